"""What is told of one schedule in lines: its facts, its next runs, its last slots."""

from collections.abc import Iterator, Sequence

import msgspec

from rota.cli.facts import when
from rota.cli.output import Output
from rota.cli.schedule_clock import clock_there, local, status
from rota.cli.schedule_columns import overlap_text, rule_text
from rota.cli.schedule_text import there, utc
from rota.cli.text import lines, relative, visible
from rota.clock import Micros, SystemClock
from rota.policy.calendar import Occurrence
from rota.schedule import Missed, Schedule, Slot
from rota.slot_task import calendar_of
from rota.times import show_duration, show_instant


def show_schedule(
    output: Output, schedule: Schedule, ahead: Sequence[Occurrence], last: Sequence[Slot]
) -> None:
    """Show everything about a schedule for people."""
    now = SystemClock().now() if output.terminal else None
    output.line(f"{output.styled(visible(schedule.name), 'bold')}  {status(schedule)}")
    for name, value in _facts(schedule, now):
        if value:
            output.line(f"  {name:<9} {visible(value)}")
    _section(output, "Payload", lines(_pretty(schedule.work.payload)))
    _section(output, "Next", [_run(slot) for slot in ahead] or ["none"])
    cells = [[cell for cell in slot_cells(schedule, slot, now) if cell] for slot in last]
    _section(output, "Last", ["  ".join(row) for row in cells] or ["none"])


def slot_cells(schedule: Schedule, slot: Slot, now: Micros | None) -> list[str]:
    """Return a slot in its own zone, what became of it, how many, when that was, and its task."""
    count = "many" if slot.count is None else str(slot.count)
    upto = slot.last if slot.last is not None and slot.last != slot.slot else None
    if now is None:
        span = local(schedule, slot.slot) + ("" if upto is None else f"/{local(schedule, upto)}")
        decided = show_instant(slot.at)
    else:
        begin = clock_there(schedule, slot.slot)
        span = begin if upto is None else f"{begin} to {clock_there(schedule, upto)}"
        decided = relative(slot.at, now)
    became = f"{slot.state.value}{', backfilled' if slot.backfilled else ''}"
    return [span, became, "" if slot.task_id else count, decided, slot.task_id or ""]


def _facts(schedule: Schedule, now: Micros | None) -> Iterator[tuple[str, str]]:
    yield "id", schedule.id
    if schedule.problem is not None:
        yield "problem", schedule.problem
        return
    yield from _rule(schedule)
    yield from _policy(schedule)
    yield from _work(schedule)
    paused = "" if schedule.paused_at is None else f"since {when(schedule.paused_at, now)}"
    yield "paused", ": ".join(filter(None, (paused, schedule.pause_reason)))
    yield "source", schedule.source
    skipped = f", {schedule.skipped:,} skipped" if schedule.skipped else ""
    yield "slots", f"{schedule.fired:,} fired{skipped}"
    fired = schedule.last_fired_at
    yield "fired", "" if fired is None else f"last {when(fired, now)}"
    yield "changed", f"{when(schedule.updated_at, now)}, version {schedule.version}"


def _rule(schedule: Schedule) -> Iterator[tuple[str, str]]:
    rule = schedule.rule
    yield "rule", f"{rule_text(rule)} ({rule.tz})"
    yield "in words", calendar_of(rule).words
    if rule.expression is not None:
        yield "clocks", f"gap {rule.gap}, fold {rule.fold}"
    yield "from", "" if rule.starts_at is None else show_instant(rule.starts_at)
    yield "until", "" if rule.ends_at is None else show_instant(rule.ends_at)


def _policy(schedule: Schedule) -> Iterator[tuple[str, str]]:
    policy = schedule.policy
    bound = f", {policy.max_catchup:,} at most" if policy.missed is Missed.RUN_ALL else ""
    age = (
        "" if policy.missed is Missed.SKIP else f", none older than {show_duration(policy.max_age)}"
    )
    yield "missed", f"{policy.missed}{bound}{age}"
    yield "overlap", overlap_text(policy)
    yield "jitter", f"up to {show_duration(policy.jitter)}" if policy.jitter else ""
    yield "runs", "" if policy.max_runs is None else f"{policy.max_runs:,} at most"


def _work(schedule: Schedule) -> Iterator[tuple[str, str]]:
    work = schedule.work
    yield "kind", work.kind
    yield "queue", work.queue
    yield "tenant", work.tenant
    yield "priority", str(work.priority)
    yield "timeout", "" if work.timeout is None else show_duration(work.timeout)
    yield "expires", "" if work.expires_in is None else f"{show_duration(work.expires_in)} later"
    yield "tags", ", ".join(work.tags)
    if work.concurrency_key is not None:
        yield "gate", f"{work.concurrency_key}, room for {work.max_concurrency:,}"


def _run(slot: Occurrence) -> str:
    notes = f"  ({'; '.join(slot.notes)})" if slot.notes else ""
    return f"{there(slot)}  {utc(slot)}{notes}"


def _pretty(payload: str) -> str:
    return msgspec.json.format(payload.encode(), indent=2).decode()


def _section(output: Output, heading: str, body: Sequence[str]) -> None:
    output.line()
    output.line(output.styled(heading, "bold"))
    for line in body:
        output.line(f"  {line}")
