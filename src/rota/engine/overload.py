"""Overload: work of the lowest classes is refused, or put off, while too much waits (R1.7)."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from rota.clock import Clock
from rota.config import MINUTE, SECOND
from rota.errors import Overloaded
from rota.model import Micros, NewTask, PriorityClass, rank_of
from rota.policy.overload import full_from, retry_after
from rota.policy.terms import Terms
from rota.shares import WhenFull
from rota.store.base import Store

FRESH = 1.0
"""Depths are counted again after so many seconds; what is submitted here meanwhile is added."""
COUNTED = 2
"""Counted up to so many times `max_depth`: from there on all that may be turned away is."""


class _Depth(Struct):
    """How many tasks of a queue or a tenant wait, as far as is known here."""

    waiting: int
    counted_at: float


class Overload:
    """Watches the queues and tenants that have a `max_depth`; all others cost nothing."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._queues: dict[str, _Depth] = {}
        self._tenants: dict[str, _Depth] = {}
        self._ended: dict[str, int] = {}
        self._ended_at = float("-inf")
        self._ended_in = 1.0

    async def admit(self, tasks: Sequence[NewTask], now: Micros, terms: Terms) -> list[NewTask]:
        """Return the tasks as they may be stored, some put off; `Overloaded` if one is refused.

        What is due later does not wait yet, and is not held up.
        """
        if not terms.bounded:
            return list(tasks)
        due = [task for task in tasks if task.run_at <= now]
        queues = {task.queue for task in due if terms.depth_of_queue(task.queue)}
        tenants = {task.tenant for task in due if terms.depth_of_tenant(task.tenant)}
        if not queues and not tenants:
            return list(tasks)
        await self._count(queues, tenants, terms)
        admitted = [await self._admitted(task, now, terms) for task in tasks]
        for task in admitted:
            if task.run_at <= now:
                _add(self._queues, task.queue)
                _add(self._tenants, task.tenant)
        return admitted

    async def _admitted(self, task: NewTask, now: Micros, terms: Terms) -> NewTask:
        if task.run_at > now:
            return task
        cls = PriorityClass.of(task.priority)
        wait, refused = 0, None
        for what, name, depths, most in (
            ("queue", task.queue, self._queues, terms.depth_of_queue(task.queue)),
            ("tenant", task.tenant, self._tenants, terms.depth_of_tenant(task.tenant)),
        ):
            full = full_from(most, cls) if most else None
            if not most or full is None or depths[name].waiting < full:
                continue
            waiting = depths[name].waiting
            longer = await self._retry_after(task.queue, waiting - full + 1)
            if longer > wait:
                wait = longer
                refused = Overloaded(f"{what} {name!r}", waiting, most, wait / SECOND)
        if refused is None:
            return task
        later = now + wait
        deferred = terms.when_full(task.queue) is WhenFull.DEFER
        if not deferred or (task.expires_at is not None and task.expires_at <= later):
            raise refused
        rank = rank_of(later, task.priority, terms.aging(task.queue))
        return structs.replace(task, run_at=later, rank=rank)

    async def _count(self, queues: set[str], tenants: set[str], terms: Terms) -> None:
        """Count what waits, where that was not counted just now."""
        now = self._clock.monotonic()
        old_queues = sorted(name for name in queues if _old(self._queues, name, now))
        old_tenants = sorted(name for name in tenants if _old(self._tenants, name, now))
        if not old_queues and not old_tenants:
            return
        most = max(
            *(terms.depth_of_queue(name) or 0 for name in old_queues),
            *(terms.depth_of_tenant(name) or 0 for name in old_tenants),
            0,
        )
        found = await self._store.depths(old_queues, old_tenants, COUNTED * most)
        for depths, known in zip(found, (self._queues, self._tenants), strict=True):
            for name in [name for name, depth in known.items() if now - depth.counted_at > FRESH]:
                del known[name]
            known.update((depth.name, _Depth(depth.waiting, now)) for depth in depths)
        for name in old_queues:
            self._queues.setdefault(name, _Depth(0, now))
        for name in old_tenants:
            self._tenants.setdefault(name, _Depth(0, now))

    async def _retry_after(self, queue: str, too_many: int) -> Micros:
        """Say when so many will have been worked off, if a queue goes on like in the last minute.

        Nobody counts tenants apart, so the pace of the queue is taken for theirs as well.
        """
        at = self._clock.monotonic()
        if at - self._ended_at > FRESH:
            now = self._clock.now()
            since = now - MINUTE
            self._ended = {}
            for (name, _, _), count in (await self._store.tallies(since)).items():
                self._ended[name] = self._ended.get(name, 0) + count
            # Tallies are kept by whole minutes: the first one is there from its beginning.
            self._ended_in = (now - since + since % MINUTE) / SECOND
            self._ended_at = at
        return retry_after(too_many, self._ended.get(queue, 0), self._ended_in)


def _old(known: Mapping[str, _Depth], name: str, now: float) -> bool:
    return name not in known or now - known[name].counted_at > FRESH


def _add(known: Mapping[str, _Depth], name: str) -> None:
    if name in known:
        known[name].waiting += 1
