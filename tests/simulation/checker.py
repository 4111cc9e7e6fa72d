"""Holds what a day left in the store against a brute force enumeration of what had to happen.

Every slot became exactly one task, or lies in exactly one skip with the right reason; none was
made up, none came before its time, and every task came to one end.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from operator import itemgetter
from typing import Any

from msgspec import Struct

from rota.model import Micros
from rota.policy.jitter import offset
from rota.schedule import Missed, Overlap, Policy, SlotState
from tests.simulation.day import Story
from tests.simulation.enumeration import slots
from tests.simulation.meddling import Era
from tests.support.places import Place

HEAD = 30
"""So many faults are told of; there are no more than a few kinds."""

_MADE = """
    select
        cast(made.schedule as text), made.slot, made.fired_at, cast(made.task_id as text),
        case
            when over.attempt = 1 and over.snoozes = 0 and over.state = 'completed'
            then over.run_at
        end,
        over.created_at, over.started_at, over.finished_at, over.state,
        over.concurrency_key
    from slot as made
    left join finished as over on over.id = made.task_id
    order by 1, 2
"""
_SKIPPED = "select cast(schedule as text), first, last, count, state, at from skip order by 1, 2"
_COMING = "select cast(id as text), cursor, fired, skipped, paused_at from schedule"


class Made(Struct, frozen=True):
    """A slot that became a task, and what became of that; `run_at` is that of the
    first attempt, where that was the only one."""

    slot: Micros
    fired_at: Micros
    task_id: str
    run_at: Micros | None
    created_at: Micros | None
    started_at: Micros | None
    finished_at: Micros | None
    state: str | None
    gate: str | None


class Skipped(Struct, frozen=True):
    """A range of slots that became none."""

    first: Micros
    last: Micros
    count: int | None
    state: SlotState
    at: Micros


class Coming(Struct, frozen=True):
    """How far a schedule has come."""

    cursor: Micros
    fired: int
    skipped: int
    paused_at: Micros | None


Decision = tuple[Micros, bool, SlotState, Micros]
"""A slot, whether it may run at all, what became of it, and when that was decided."""


async def faults(place: Place, story: Story) -> list[str]:
    """Return what is wrong, at most `HEAD` sentences."""
    found = [fault async for fault in _of_tasks(place)]
    found += _of_cursors(story)
    made = _grouped(await place.rows(_MADE), Made)
    skipped = _grouped(await place.rows(_SKIPPED), Skipped)
    coming = {row[0]: Coming(*row[1:]) for row in await place.rows(_COMING)}
    for schedule_id, eras in story.ledger.eras.items():
        if schedule_id in story.ledger.deleted:
            continue
        one = _Schedule(eras, made[schedule_id], skipped[schedule_id], coming[schedule_id])
        name = eras[0].schedule.name
        found += (f"{name}: {fault}" for fault in one.faults(story.fired_at))
        if len(found) > HEAD:
            break
    return found[:HEAD]


def _grouped(rows: Sequence[tuple[Any, ...]], kind: Any) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = defaultdict(list)
    for schedule_id, *fields in rows:
        groups[schedule_id].append(kind(*fields))
    return groups


async def _of_tasks(place: Place) -> Any:
    """Yield faults of tasks as such: also of those whose schedules are gone."""
    for table in ("scheduled", "ready", "dead_letter"):
        if left := await place.value(f"select count(*) from {table}"):
            yield f"{left} tasks are in {table}"
    twice = "select count(*) from (select 1 from finished group by {} having count(*) > 1) as twice"
    for what in ("id", "schedule, slot"):
        if number := await place.value(twice.format(what)):
            yield f"{number} times there are two tasks with the same {what}"
    if number := await place.value(
        "select count(*) from finished where started_at < run_at or finished_at < started_at"
    ):
        yield f"{number} tasks started before their time"
    ends = "state = 'completed' or (state = 'cancelled' and reason is not null)"
    if number := await place.value(f"select count(*) from finished where ({ends}) is not true"):
        yield f"{number} tasks ended as no task may"


def _of_cursors(story: Story) -> Iterator[str]:
    for schedule_id, seen in story.cursors.items():
        if any(later < before for before, later in pairwise(seen)):
            yield f"{schedule_id}: version or cursor went back"


class _Schedule:
    """One schedule with all that was recorded of it."""

    def __init__(
        self, eras: list[Era], made: list[Made], skipped: list[Skipped], coming: Coming
    ) -> None:
        self._eras = eras
        self._made = made
        self._skipped = skipped
        self._coming = coming
        self._firsts = [skip.first for skip in skipped]
        self._by_slot = {one.slot: one for one in made}

    def faults(self, fired_at: Micros) -> Iterator[str]:
        counted = sum(skip.count or 0 for skip in self._skipped)
        for what, told, recorded in (
            ("fired", self._coming.fired, len(self._made)),
            ("skipped", self._coming.skipped, counted),
        ):
            if told != recorded:
                yield f"{told} counted as {what}, {recorded} recorded"
        if unfinished := sum(one.state is None for one in self._made):
            yield f"{unfinished} of its tasks was never finished"
        known = 0
        for era, old_cursor, cursor in self._spans():
            decided: list[Decision] = []
            for slot, runs in slots(era.wish.rule, era.wish.fields, era.schedule.cursor, cursor):
                what_became = self._of(slot)
                if isinstance(what_became, str):
                    if not self._over(era, slot):
                        yield f"slot {slot} {what_became}"
                    continue
                known += 1
                decided.append((slot, runs, *what_became))
            yield from self._decided(era, [one for one in decided if one[0] <= old_cursor])
            yield from _replaced([one for one in decided if one[0] > old_cursor])
        if known != len(self._made) + counted:
            yield f"{len(self._made)} + {counted} slots recorded, {known} are slots"
        yield from self._nothing_left(fired_at)
        yield from self._overlaps()

    def _spans(self) -> Iterator[tuple[Era, Micros, Micros]]:
        """Yield each era with how far it had come when it was changed, and how far it counts."""
        ends = [(era.old_cursor, era.schedule.cursor) for era in self._eras[1:]]
        ends.append((self._coming.cursor, self._coming.cursor))
        for era, (old_cursor, cursor) in zip(self._eras, ends, strict=True):
            yield era, old_cursor, cursor

    def _of(self, slot: Micros) -> tuple[SlotState, Micros] | str:
        """Return what became of a slot and when, or what is wrong with that."""
        made = self._by_slot.get(slot)
        place = bisect_right(self._firsts, slot)
        covering = [s for s in self._skipped[max(place - 3, 0) : place] if slot <= s.last]
        if made is not None and covering:
            return "became a task and was skipped"
        if made is not None:
            return SlotState.FIRED, made.fired_at
        if len(covering) != 1:
            return f"became no task and was skipped {len(covering)} times"
        return SlotState(covering[0].state), covering[0].at

    def _over(self, era: Era, slot: Micros) -> bool:
        """Whether the schedule had all its runs before a slot: then nobody has to decide it."""
        most = era.schedule.policy.max_runs
        return most is not None and sum(one.slot < slot for one in self._made) >= most

    # -- policy ---------------------------------------------------------------------------------

    def _decided(self, era: Era, decisions: list[Decision]) -> Iterator[str]:
        """Check each plan: slots that were decided at the same time, by one policy."""
        policy = era.schedule.policy
        delay = offset(era.schedule.id, policy.jitter)
        times = [at for _, _, _, at in decisions]
        if times != sorted(times):
            yield "a later slot was decided before an earlier one"
        for at, group in groupby(decisions, itemgetter(3)):
            plan = list(group)
            until = at - delay
            if plan[-1][0] > until:
                yield f"slot {plan[-1][0]} was decided {plan[-1][0] - until} µs before its time"
            due = [slot for slot, runs, _, _ in plan if runs]
            may_run = set(_may_run(policy, due, until))
            for slot, runs, state, _ in plan:
                allowed = _allowed(policy, slot, runs, may_run)
                if state not in allowed:
                    yield f"slot {slot} is {state}, not {allowed} ({policy}, decided at {at})"
                made = self._by_slot.get(slot)
                if made is not None and made.run_at not in (None, slot + delay):
                    yield f"slot {slot} was to run at {made.run_at}, not {slot + delay}"

    def _nothing_left(self, fired_at: Micros) -> Iterator[str]:
        """Check that what has come was decided: by the end nobody was away any more."""
        last = self._eras[-1]
        if self._coming.paused_at is not None:
            return
        until = fired_at - offset(last.schedule.id, last.schedule.policy.jitter)
        left = slots(last.wish.rule, last.wish.fields, self._coming.cursor, until)
        if any(runs and not self._over(last, slot) for slot, runs in left):
            yield f"{len(left)} slots after the cursor {self._coming.cursor} were forgotten"

    # -- overlap --------------------------------------------------------------------------------

    def _overlaps(self) -> Iterator[str]:
        """Check that no two tasks were inside the schedule's gate, and no more live than may be."""
        gated = [one for one in self._made if one.gate and one.started_at is not None]
        gated.sort(key=lambda one: (one.started_at, one.finished_at))
        for one, other in pairwise(gated):
            if (other.started_at or 0) < (one.finished_at or 0):
                yield f"slots {one.slot} and {other.slot} ran at the same time"
        lives = sorted((one.fired_at, one.finished_at or 0, one.slot) for one in self._made)
        live: list[Micros] = []
        for fired_at, finished_at, slot in lives:
            live = [end for end in live if end > fired_at]
            most = _most_live(self._policy_at(slot))
            if most is not None and len(live) >= most:
                yield f"slot {slot} became a task beside {len(live)} others"
            live.append(finished_at)
        starts = [fired_at for fired_at, _, _ in lives]
        latest = list(accumulate((end for _, end, _ in lives), max, initial=0))
        for skip in self._skipped:
            # Whether anything that had begun by then was not over.
            before = latest[bisect_right(starts, skip.at)]
            if skip.state == SlotState.OVERLAP and before < skip.at:
                yield f"slot {skip.first} was skipped for an overlap with nothing"

    def _policy_at(self, slot: Micros) -> Policy:
        starts = [era.schedule.cursor for era in self._eras]
        return self._eras[bisect_left(starts, slot) - 1].schedule.policy


def _replaced(decided: list[Decision]) -> Iterator[str]:
    """Check slots that had come when their rule was replaced, or when a pause ended."""
    for slot, _, state, _ in decided:
        if state not in (SlotState.PAUSED, SlotState.MISSED, SlotState.GAP):
            yield f"slot {slot} is {state} although its rule was replaced"


def _may_run(policy: Policy, due: Sequence[Micros], until: Micros) -> Sequence[Micros]:
    """Return what the misfire policy lets run of the slots that were due."""
    on_time = [slot for slot in due if until - slot <= policy.grace]
    missed = due[: len(due) - len(on_time)]
    young = [slot for slot in missed if until - slot <= policy.max_age]
    if not missed or policy.missed is Missed.SKIP:
        return on_time
    if policy.missed is Missed.RUN_ONCE:
        return on_time[-1:] or young[-1:]
    return [*young[-policy.max_catchup :], *on_time]


def _allowed(
    policy: Policy, slot: Micros, runs: bool, may_run: set[Micros]
) -> tuple[SlotState, ...]:
    if not runs:
        return (SlotState.GAP,)
    if slot not in may_run:
        return (SlotState.MISSED,)
    if policy.overlap is Overlap.ALLOW:
        return (SlotState.FIRED,)
    if policy.overlap is Overlap.CANCEL_PREVIOUS and slot == max(may_run):
        return (SlotState.FIRED,)
    return (SlotState.FIRED, SlotState.OVERLAP)


def _most_live(policy: Policy) -> int | None:
    """Return how many tasks of a schedule may be live, the new one included."""
    match policy.overlap:
        case Overlap.SKIP:
            return 1
        case Overlap.COALESCE:
            return 2
        case Overlap.QUEUE:
            return 1 + policy.max_pending
        case _:
            return None
