"""Firing: slots that have come become tasks, on whichever node comes first (R6.4)."""

import logging
from collections.abc import Callable, Iterator, Sequence

from rota.clock import Clock, Ids, Rng
from rota.config import COUNTED_SLOTS, SECOND
from rota.engine.finish import ranked
from rota.engine.newsroom import Newsroom
from rota.engine.sharing import Known
from rota.engine.unfired import Unfired
from rota.errors import StoreError
from rota.model import Micros, NewTask
from rota.outage import OUTAGES
from rota.policy.calendar import Calendar
from rota.policy.firing import Plan, plan
from rota.policy.jitter import offset
from rota.policy.terms import Terms
from rota.schedule import Due, Fired, Firing, Run, Schedule
from rota.slot_task import task_of
from rota.store.base import CHANGED, Store
from rota.telemetry import Firings, Telemetry
from rota.zones import version

STEP = 500
"""A step looks at so many due schedules."""
BATCH = 125
BATCH_TASKS = 2_000
BATCH_SECONDS = 0.02
"""What is carried out at once; long planning shall not hold up what else is on the event loop."""
AGAIN: Micros = SECOND // 10
"""What another node is carrying out is looked at again after this long."""

log = logging.getLogger("rota.engine")

Readable = tuple[Due, Calendar]
Planned = tuple[Due, Firing]


class Fire:
    """The fire steps of one node; any number of nodes may take them at once (R8.3).

    Each firing is guarded by what it was decided from, so of several nodes one carries it out and
    the others find that nothing is left to do (cases B095, B104, B118).
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        ids: Ids,
        rng: Rng,
        telemetry: Telemetry,
        *,
        known: Known,
        stored: Callable[[Sequence[NewTask]], None],
        news: Newsroom,
    ) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._rng = rng
        self._telemetry = telemetry
        self._known = known
        self._stored = stored
        self._news = news
        self._unfired = Unfired(telemetry)

    async def step(self) -> Fired:
        """Decide the slots of at most about `STEP` due schedules, the longest due first."""
        now = self._clock.now()
        first = await self._store.next_firing()
        if first is None or first > now:
            return Fired(0, 0, first)
        # Those that cannot be fired here stay due, and come first; they must not fill the page.
        page = await self._store.due_schedules(now, STEP + len(self._unfired))
        applied = await self._carry_out(self._unfired.sift(page), now)
        self._unfired.tell()
        next_at = await self._next(now)
        if next_at is not None and next_at <= now and not applied:
            next_at = now + AGAIN
        made = sum(len(firing.runs) for firing in applied)
        skipped = sum(_skipped(firing) for firing in applied)
        return Fired(made, skipped, next_at)

    async def _carry_out(self, due: Sequence[Readable], now: Micros) -> list[Firing]:
        """Carry out what is due and return what was left for this node to do."""
        terms = await self._known.fresh()
        # Each node begins elsewhere: those that look at the same moment share the work.
        turn = self._rng.randrange(len(due)) if due else 0
        done: list[Firing] = []
        for batch in self._batches([*due[turn:], *due[:turn]], now, terms):
            answers = await self._fire(batch, now)
            applied = [one for one, answer in zip(batch, answers, strict=True) if answer]
            self._stored([run.task for _, firing in applied for run in firing.runs])
            await self._tell(applied)
            done += (firing for _, firing in applied)
            if not applied:
                break  # another node has come this far from elsewhere
        return done

    async def _fire(self, batch: Sequence[Planned], now: Micros) -> list[bool]:
        """Carry out a batch; one firing that the store refuses does not stop the others."""
        try:
            return await self._store.fire([firing for _, firing in batch], now)
        except OUTAGES:
            raise
        except StoreError as error:
            if len(batch) == 1:
                self._unfired.add(batch[0][0].schedule, str(error))
                return [False]
        return [answer for one in batch for answer in await self._fire([one], now)]

    def _batches(
        self, due: Sequence[Readable], now: Micros, terms: Terms
    ) -> Iterator[list[Planned]]:
        batch: list[Planned] = []
        tasks, began = 0, self._clock.monotonic()
        for one, calendar in due:
            try:
                firing = self._firing(one, calendar, now, terms)
            except Exception as error:
                # A fault with one schedule must not keep all others from being fired.
                self._unfired.add(one.schedule, f"{type(error).__name__}: {error}")
                continue
            batch.append((one, firing))
            tasks += len(firing.runs)
            long = self._clock.monotonic() - began > BATCH_SECONDS
            if long or len(batch) == BATCH or tasks >= BATCH_TASKS:
                yield batch
                batch, tasks, began = [], 0, self._clock.monotonic()
        if batch:
            yield batch

    def _firing(self, due: Due, calendar: Calendar, now: Micros, terms: Terms) -> Firing:
        schedule = due.schedule
        decided = plan(schedule, calendar, now, due.live)
        return Firing(
            schedule_id=schedule.id,
            version=schedule.version,
            cursor=schedule.cursor,
            runs=self._runs(schedule, decided, now, terms),
            skips=decided.skips,
            new_cursor=decided.new_cursor,
            next_slot=decided.next_slot,
            next_at=decided.next_at,
            tz_data=version(),
            cancel_previous=decided.cancel_previous,
        )

    def _runs(
        self, schedule: Schedule, decided: Plan, now: Micros, terms: Terms
    ) -> tuple[Run, ...]:
        delay = offset(schedule.id, schedule.policy.jitter)
        ids = self._ids.many(now, len(decided.runs))
        tasks = [
            task_of(schedule, slot, task_id=task_id, run_at=slot + delay, now=now)
            for slot, task_id in zip(decided.runs, ids, strict=True)
        ]
        return tuple(map(Run, decided.runs, ranked(tasks, terms)))

    async def _next(self, now: Micros) -> Micros | None:
        if not len(self._unfired):
            return await self._store.next_firing()
        # The earliest ones are of no use here: look a second ahead for one that can be read.
        horizon = now + SECOND
        ahead = await self._store.due_schedules(horizon, len(self._unfired) + 1)
        times = [one.schedule.next_at for one in ahead if one.schedule.id not in self._unfired]
        return min((at for at in times if at is not None), default=horizon)

    async def _tell(self, applied: Sequence[Planned]) -> None:
        """Wake workers after the commit, and say how late it was."""
        if any(firing.cancel_previous for _, firing in applied):
            await self._store.notify(CHANGED)
        elif any(firing.runs for _, firing in applied):
            await self._store.notify(0)
        answered = self._clock.now()
        for due, firing in applied:
            self._news.fired(due, firing, answered)
        seen = [_seen(due, firing, answered) for due, firing in applied]
        try:
            self._telemetry.fired(seen)
        except Exception:
            log.exception("the telemetry failed; schedules are fired all the same")


def _seen(due: Due, firing: Firing, answered: Micros) -> Firings:
    late = tuple((answered - run.task.run_at) / SECOND for run in firing.runs)
    return Firings(due.schedule.name, late, due.live + len(firing.runs))


def _skipped(firing: Firing) -> int:
    return sum(COUNTED_SLOTS if skip.count is None else skip.count for skip in firing.skips)
