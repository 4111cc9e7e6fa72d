"""Reaping: sessions whose lease has run out give back what they held (R3.1, R3.8)."""

from collections.abc import Callable, Sequence

from rota.clock import Clock, Rng
from rota.engine.gates import Gates
from rota.model import Claimed, Micros, State
from rota.policy.lifecycle import LeaseLost, decide
from rota.policy.retry import Backoff
from rota.store.base import Store

SESSIONS = 100
TASKS = 1_000

_UNUSED = Backoff()
"""A lost lease is decided without the kind, so a node that does not know it can reap (B124)."""


async def reap(
    store: Store,
    clock: Clock,
    rng: Rng,
    gates: Gates,
    *,
    aging: Callable[[str], Micros],
    lost: Callable[[Sequence[Claimed]], None],
) -> int:
    """Return how many tasks were taken back from sessions that are over.

    Any number of nodes may do it at once: each task is moved by one of them, under the fence that
    it was held with, so a report of the old holder that comes first wins. What the old holder's
    open transaction is completing is left to it, and to a later step.
    """
    returned = 0
    for session_id in await store.end_expired(clock.now(), SESSIONS):
        while held := await store.held(session_id, TASKS, free=True):
            now = clock.now()
            moves = [
                decide(task, LeaseLost(), _UNUSED, now, rng.random(), aging=aging(task.queue))
                for task in held
            ]
            answers = await store.finish(session_id, moves, now)
            lost([task for task, taken in zip(held, answers, strict=True) if taken])
            applied = sum(answers)
            over = {move.id for move in moves if move.to is not State.READY}
            await gates.left(task.concurrency_key for task in held if task.id in over)
            returned += applied
            if not applied:
                break
    return returned
