"""What an action does to some tasks, and the word for what became of each."""

from collections.abc import Awaitable, Callable, Sequence

from rota.actions import Action, Do, On
from rota.backend import Backend
from rota.model import CancelOutcome, State

Deed = Callable[[Backend, Action, Sequence[str]], Awaitable[list[str]]]

CHANGED = frozenset({"done", "completed", "accepted"})
"""The words that say that something was changed; the others say why not."""

_WAITING = (State.SCHEDULED, State.READY)
USUAL: dict[tuple[Do, On], tuple[State, ...]] = {
    (Do.CANCEL, On.TASKS): (*_WAITING, State.RUNNING),
    (Do.RETRY, On.TASKS): (State.FAILED,),
    (Do.AMEND, On.TASKS): _WAITING,
    (Do.DELETE, On.TASKS): (State.COMPLETED, State.CANCELLED),
    (Do.DELETE, On.DEAD_LETTERS): (State.FAILED,),
    (Do.RETRY, On.DEAD_LETTERS): (State.FAILED,),
    (Do.REPLAY, On.DEAD_LETTERS): (State.FAILED,),
    (Do.DISCARD, On.DEAD_LETTERS): (State.FAILED,),
    (Do.RESTORE, On.DEAD_LETTERS): (State.FAILED,),
}
"""What can be done to what, and the states that are meant unless a filter names some."""


async def carry_out(backend: Backend, action: Action, ids: Sequence[str]) -> list[str]:
    """Do to these tasks what the action does; may be repeated without harm."""
    return await _DEEDS[action.do](backend, action, ids) if ids else []


async def _cancel(backend: Backend, action: Action, ids: Sequence[str]) -> list[str]:
    deadline = None if action.deadline is None else backend.clock.now() + action.deadline
    outcomes: list[CancelOutcome] = await backend.cancel(ids, deadline)
    return [outcome.value for outcome in outcomes]


async def _retry(backend: Backend, _action: Action, ids: Sequence[str]) -> list[str]:
    return [outcome.value for outcome in await backend.retry(ids)]


async def _amend(backend: Backend, action: Action, ids: Sequence[str]) -> list[str]:
    return [outcome.value for outcome in await backend.amend(ids, action.set)]


async def _delete(backend: Backend, _action: Action, ids: Sequence[str]) -> list[str]:
    return [outcome.value for outcome in await backend.delete(ids)]


async def _replay(backend: Backend, _action: Action, ids: Sequence[str]) -> list[str]:
    return [
        "nothing_to_do" if copy is None else "done" if copy.created else "replayed_before"
        for copy in await backend.replay(ids)
    ]


async def _discard(backend: Backend, action: Action, ids: Sequence[str]) -> list[str]:
    return _told(await backend.discard(ids, action.reason or ""))


async def _restore(backend: Backend, _action: Action, ids: Sequence[str]) -> list[str]:
    return _told(await backend.restore(ids))


def _told(done: Sequence[bool]) -> list[str]:
    return ["done" if one else "nothing_to_do" for one in done]


_DEEDS: dict[Do, Deed] = {
    Do.CANCEL: _cancel,
    Do.RETRY: _retry,
    Do.AMEND: _amend,
    Do.DELETE: _delete,
    Do.REPLAY: _replay,
    Do.DISCARD: _discard,
    Do.RESTORE: _restore,
}
