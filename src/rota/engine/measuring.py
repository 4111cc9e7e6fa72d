"""Counting what a process does, batch by batch, and writing it down now and then (R9.3).

A batch costs the same few steps whether it has one task or a thousand; nothing is looked up or
written task by task. What is not written down yet is lost if the process is killed: statistics are
not worth a write of their own for each batch. What tasks ended as is counted by the store itself.
"""

import asyncio
import logging
import operator
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from rota.backend import Report
from rota.clock import Clock
from rota.config import HOUR, MINUTE, SECOND
from rota.engine.classes import Classes
from rota.engine.service_counts import ServiceCounts
from rota.engine.service_counts import rows as service_rows
from rota.engine.vitals import Vitals
from rota.errors import StoreError
from rota.figures import (
    ENDS,
    LATENESS,
    PLACES,
    RUNS,
    WAITS,
    Counted,
    Line,
    Measure,
)
from rota.model import Accepted, Claimed, Micros, NewTask, State, Task, Transition
from rota.policy.histogram import add, add_micros
from rota.policy.lifecycle import Expired, Released, Snoozed
from rota.store.base import Store
from rota.telemetry import SILENT, Telemetry

log = logging.getLogger("rota.engine")


class _Lined(Protocol):
    """What belongs to a queue and a kind."""

    @property
    def queue(self) -> str: ...
    @property
    def kind(self) -> str: ...


L = TypeVar("L", bound=_Lined)
K = TypeVar("K")

FLUSH_EVERY = 10.0
KEPT_MOST = 5_000
"""While the store is away no more rows than this wait to be written; the oldest are forgotten."""
LINES_MOST = 1_000
"""More pairs of queue and kind than this in a minute are counted as one, `_other`."""
TOTALS_MOST = 5_000
"""And so are more than this in the life of a process."""
OTHER: Line = ("_other", "_other")
TICK_EVERY = 3.0
"""How often a node writes down that it does its duties; scheduler silence is seen after 10 s."""
TICK_APART: Micros = 5 * SECOND // 2
CLOSING = 2.0
"""Who closes waits no longer than so many seconds for a store that is away."""

_TO: Mapping[State, Measure] = {
    State.COMPLETED: Measure.COMPLETED,
    State.FAILED: Measure.FAILED,
    State.CANCELLED: Measure.CANCELLED,
}
_BACK: Mapping[type, Measure] = {Snoozed: Measure.SNOOZED, Released: Measure.RELEASED}


class Measuring:
    """What one process counts. `totals` are since its start, and what others read is in the store.

    The hooks are called after the store has answered, with whole batches.
    """

    def __init__(
        self, store: Store, clock: Clock, vitals: Vitals, telemetry: Telemetry = SILENT
    ) -> None:
        self._store = store
        self._clock = clock
        self._vitals = vitals
        self._telemetry = telemetry
        self._loud = telemetry is not SILENT
        self._minute: Micros = 0
        self._counts: dict[Line, list[int]] = {}
        self.claims = [0, 0]
        """How many claims got nothing, and how many something."""
        self.classes = Classes()
        self.service = ServiceCounts()
        self._waiting: dict[tuple[Micros, str, str], list[int]] = {}
        self._totals: dict[Line, list[int]] = {}
        self._flush_at = clock.monotonic() + FLUSH_EVERY
        self._later: asyncio.TimerHandle | None = None
        self._trailing: asyncio.Future[None] | None = None
        self._ticks: set[str] = set()
        self._tick_at = clock.monotonic()

    # -- hooks ----------------------------------------------------------------------------------

    def submitted(self, tasks: Sequence[NewTask], accepted: Sequence[Accepted]) -> None:
        """Count the tasks that are new."""
        if not all(answer.created for answer in accepted):
            pairs = zip(tasks, accepted, strict=True)
            tasks = [task for task, answer in pairs if answer.created]
        self.made(tasks)

    def made(self, tasks: Sequence[NewTask]) -> None:
        """Count tasks that were stored."""
        counted = self._count(tasks, Measure.SUBMITTED)
        self.classes.made(tasks)
        if self._loud:
            self._telemetry.submitted(counted)

    def refused(self, tasks: Sequence[NewTask], reason: str) -> None:
        """Count tasks that were turned away: too much waits in their `queue` or `tenant` (R1.7)."""
        counted = self._count(tasks, Measure.REFUSED)
        self.classes.turned_away(tasks, reason)
        if self._loud:
            self._telemetry.refused(counted)

    def claimed(self, tasks: Sequence[Claimed], now: Micros, took: float) -> None:
        """Count a claim that took so many seconds, and how long its tasks had waited."""
        self._vitals.reached()
        self.claims[bool(tasks)] += 1
        self.classes.claims.add([int(took * SECOND)])
        for line, some in _lines(tasks):
            counts = self._of(line, now)
            counts[Measure.STARTED] += len(some)
            due = [task.run_at for task in some]
            made = [task.created_at for task in some]
            if due != made:
                # What waited for its time has been ready since then, all else since it was made.
                found = [
                    (_source(task), now - at)
                    for at, begin, task in zip(due, made, some, strict=True)
                    if at > begin or task.schedule is not None
                ]
                self.classes.delayed(found)
                late = [wait for _, wait in found]
                counts[Measure.LATE] += sum(late)
                add_micros(counts, LATENESS, late)
                due = [*map(max, due, made)]
            waits = [now - at for at in due]
            counts[Measure.WAITED] += sum(waits)
            if self._loud:
                self._telemetry.claimed(*line, [wait / SECOND for wait in waits])
            self.classes.waited(line[0], [task.priority for task in some], waits)
            add_micros(counts, WAITS, waits)

    def finished(
        self,
        reports: Sequence[Report],
        moves: Sequence[Transition],
        applied: Sequence[bool],
        now: Micros,
    ) -> None:
        """Count how hand-outs ended, how long they ran, and reports that came too late (R3.2)."""
        self._vitals.reached()
        if not all(applied):
            told = list(zip(reports, moves, applied, strict=True))
            self.stale([report.task for report, _, ok in told if not ok])
            reports = [report for report, _, ok in told if ok]
            moves = [move for _, move, ok in told if ok]
        if {move.to for move in moves} == {State.COMPLETED}:
            for line, some in _reports(reports):
                self._ended(line, some, Measure.COMPLETED, now)
            self.service.completed(reports, now)
            return
        groups: dict[tuple[Line, Measure], list[Report]] = {}
        for report, move in zip(reports, moves, strict=True):
            line = (report.task.queue, report.task.kind)
            groups.setdefault((line, _outcome(report, move)), []).append(report)
        for (line, measure), some in groups.items():
            self._ended(line, some, measure, now)
            if measure is Measure.COMPLETED:
                self.service.completed(some, now)

    def lost(self, tasks: Sequence[Claimed]) -> None:
        """Count tasks whose worker was lost (R3.1)."""
        counted = self._count(tasks, Measure.LOST)
        if self._loud and counted:
            self._telemetry.lost(counted)

    def stale(self, tasks: Sequence[Task | Claimed]) -> None:
        """Count reports under an old fence: they changed nothing (R3.2)."""
        counted = self._count(tasks, Measure.STALE)
        if self._loud:
            self._telemetry.stale(counted)

    def expired(self, number: int) -> None:
        """Count tasks that were cancelled because nobody started them in time; of all queues."""
        if number:
            self._of(("", ""), self._clock.now())[Measure.EXPIRED] += number

    async def ticked(self, duty: str) -> None:
        """Take note that a duty was done here; write it down if nobody has for a while."""
        at = self._clock.monotonic()
        self._vitals.reached()
        self._vitals.ticked[duty] = at
        if self._loud:
            self._telemetry.ticked(duty)
        self._ticks.add(duty)
        if at < self._tick_at:
            return
        self._tick_at = at + TICK_EVERY
        done, self._ticks = sorted(self._ticks), set()
        try:
            await self._store.tick(done, self._clock.now(), TICK_APART)
        except StoreError as error:
            # What matters is that it was done; the next step will tell if the store is away.
            log.debug("that %s was done is not written down: %s", ", ".join(done), error)

    # -- what was counted -----------------------------------------------------------------------

    @property
    def totals(self) -> Mapping[Line, Sequence[int]]:
        """What this process has counted since its start, by queue and kind."""
        self._turn(self._clock.now())
        return self._totals

    async def flush_now_and_then(self) -> None:
        """Write down what was counted, if that is due; a store that is away is asked again."""
        if self._clock.monotonic() >= self._flush_at:
            await self._try()
        elif self._later is None and self._counts:
            # Who does nothing more for hours has its last counts written all the same.
            loop = asyncio.get_running_loop()
            self._later = loop.call_later(FLUSH_EVERY, self._trail)

    def _trail(self) -> None:
        self._later = None
        # Held on to: a loop alone does not keep a task from being collected while it runs.
        self._trailing = asyncio.ensure_future(self._try())

    async def _try(self) -> None:
        try:
            await self.flush()
        except StoreError as error:
            log.debug("statistics are written later: %s", error)

    async def flush(self) -> None:
        """Write down what was counted.

        If it is not known whether that arrived it is written again: then it may count twice.
        """
        self._flush_at = self._clock.monotonic() + FLUSH_EVERY
        self._turn(self._clock.now())
        try:
            await self._flush_statistics()
        finally:
            await self._flush_service()

    async def _flush_statistics(self) -> None:
        taken, self._waiting = self._waiting, {}
        if not taken:
            return
        try:
            await self._store.add_statistics(_rows(taken))
        except BaseException:
            for key, counts in taken.items():
                _add(self._waiting, key, counts)
            while len(self._waiting) > KEPT_MOST:
                del self._waiting[next(iter(self._waiting))]
            raise

    async def _flush_service(self) -> None:
        taken = self.service.take()
        try:
            await self._store.add_service(service_rows(taken))
        except BaseException:
            self.service.give_back(taken)
            raise

    async def close(self) -> None:
        """Write down what is left, unless the store is away."""
        if self._later is not None:
            self._later.cancel()
        try:
            async with asyncio.timeout(CLOSING):
                await self.flush()
        except (StoreError, TimeoutError) as error:
            log.debug("the last statistics are lost: %s", error)

    def _turn(self, now: Micros) -> None:
        """Put aside what was counted in the minute so far, and begin the one of `now`."""
        for (queue, kind), counts in self._counts.items():
            _add(self._waiting, (self._minute, queue, kind), counts)
            room = len(self._totals) < TOTALS_MOST or (queue, kind) in self._totals
            _add(self._totals, (queue, kind) if room else OTHER, counts)
        self._counts = {}
        self._minute = now - now % MINUTE

    def _of(self, line: Line, now: Micros) -> list[int]:
        if now - self._minute >= MINUTE or now < self._minute:
            self._turn(now)
        counts = self._counts.get(line)
        if counts is None:
            if len(self._counts) >= LINES_MOST and line != OTHER:
                return self._of(OTHER, now)
            counts = self._counts[line] = [0] * PLACES
        return counts

    def _count(
        self, tasks: Sequence[NewTask | Claimed | Task], measure: Measure
    ) -> dict[Line, int]:
        now = self._clock.now()
        self._vitals.reached()
        counted = {line: len(some) for line, some in _lines(tasks)}
        for line, number in counted.items():
            self._of(line, now)[measure] += number
        return counted

    def _ended(self, line: Line, reports: Sequence[Report], measure: Measure, now: Micros) -> None:
        counts = self._of(line, now)
        counts[measure] += len(reports)
        if measure is Measure.CANCELLED:
            counts[Measure.EXPIRED] += sum(type(report.ending) is Expired for report in reports)
        took = [report.seconds for report in reports if report.seconds is not None]
        if took:
            counts[Measure.RAN] += int(sum(took) * SECOND)
            add(counts, RUNS, took)
        if self._loud:
            self._telemetry.finished(*line, measure.name.lower(), len(reports), took)


def _lines(tasks: Sequence[L]) -> Sequence[tuple[Line, Sequence[L]]]:
    """Return the tasks by queue and kind; mostly a batch has but one."""
    if not tasks:
        return ()
    queues = {task.queue for task in tasks}
    kinds = {task.kind for task in tasks}
    if len(queues) == len(kinds) == 1:
        return [((queues.pop(), kinds.pop()), tasks)]
    found: dict[Line, list[L]] = {}
    for task in tasks:
        found.setdefault((task.queue, task.kind), []).append(task)
    return list(found.items())


def _reports(reports: Sequence[Report]) -> Sequence[tuple[Line, Sequence[Report]]]:
    found = _lines([report.task for report in reports])
    if len(found) == 1:
        return [(found[0][0], reports)]
    groups: dict[Line, list[Report]] = {}
    for report in reports:
        groups.setdefault((report.task.queue, report.task.kind), []).append(report)
    return list(groups.items())


def _source(task: Claimed) -> str:
    """Return why a task was due later than it was made: see `rota.engine.classes`."""
    if task.attempt > 1 or task.lost or task.snoozes:
        return "retry"
    return "delay" if task.schedule is None else "schedule"


def _outcome(report: Report, move: Transition) -> Measure:
    known = _TO.get(move.to)
    return known or _BACK.get(type(report.ending), Measure.RETRIED)


def _add(sums: dict[K, list[int]], key: K, counts: Sequence[int]) -> None:
    known = sums.get(key)
    sums[key] = list(counts) if known is None else [*map(operator.add, known, counts)]


def _rows(waiting: Mapping[tuple[Micros, str, str], Sequence[int]]) -> list[Counted]:
    """Return what is written, by the minute and by the hour: all that the store does not count."""
    hours: dict[tuple[Micros, str, str], list[int]] = {}
    for (at, queue, kind), counts in waiting.items():
        _add(hours, (at - at % HOUR, queue, kind), counts)
    return [
        Counted(at, span, queue, kind, written)
        for span, rows in ((MINUTE, waiting), (HOUR, hours))
        for (at, queue, kind), counts in rows.items()
        if (written := {place: n for place, n in enumerate(counts) if n and place not in ENDS})
    ]
