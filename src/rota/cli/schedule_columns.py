"""The columns of a list of schedules: what each is called and what it shows."""

from collections.abc import Callable
from typing import NamedTuple

from rota.cli.problems import UsageError
from rota.cli.schedule_clock import clock, local, status, there
from rota.cli.text import relative
from rota.clock import Micros, instant
from rota.config import DAY
from rota.registry import did_you_mean
from rota.schedule import Overlap, Policy, Rule, Schedule
from rota.times import show_duration, show_instant


class ScheduleColumn(NamedTuple):
    """A column: the whole value for programs, and what a person sees now where that differs."""

    heading: str
    plain: Callable[[Schedule], str]
    seen: Callable[[Schedule, Micros], str] | None = None

    def cell(self, schedule: Schedule, now: Micros) -> str:
        """Return what a person sees."""
        return self.plain(schedule) if self.seen is None else self.seen(schedule, now)


def rule_text(rule: Rule) -> str:
    """Return a rule as it was written, without its zone.

    >>> rule_text(Rule(every=90_000_000))
    'every 1m30s'
    """
    return f"every {show_duration(rule.every)}" if rule.every else rule.expression or ""


def overlap_text(policy: Policy) -> str:
    """Return an overlap policy as it is written.

    >>> overlap_text(Policy(overlap=Overlap.QUEUE, max_pending=5))
    'queue(5)'
    """
    if policy.overlap is Overlap.QUEUE:
        return f"queue({policy.max_pending})"
    return policy.overlap.value


def _soon_there(schedule: Schedule, now: Micros) -> str:
    if schedule.next_at is None:
        return ""
    moment = there(schedule, schedule.next_at)
    day = "%a" if 0 <= schedule.next_at - now < 6 * DAY else "%Y-%m-%d"
    offset = moment.strftime("%z")
    return moment.strftime(f"{day} {clock(moment)}") + f" {offset[:3]}:{offset[3:5]}"


def _soon_utc(schedule: Schedule, now: Micros) -> str:
    if schedule.next_at is None:
        return ""
    moment = instant(schedule.next_at)
    day = "" if abs(schedule.next_at - now) < DAY else "%Y-%m-%d "
    return moment.strftime(f"{day}{clock(moment)}Z")


def _instant(heading: str, field: str) -> ScheduleColumn:
    """Return a column of instants: in UTC for programs, as seen from now for people."""

    def plain(schedule: Schedule) -> str:
        at: Micros | None = getattr(schedule, field)
        return "" if at is None else show_instant(at)

    def seen(schedule: Schedule, now: Micros) -> str:
        at: Micros | None = getattr(schedule, field)
        return "" if at is None else relative(at, now)

    return ScheduleColumn(heading, plain, seen)


def _on_next(said: Callable[[Schedule, Micros], str]) -> Callable[[Schedule], str]:
    return lambda schedule: "" if schedule.next_at is None else said(schedule, schedule.next_at)


COLUMNS = {
    "name": ScheduleColumn("NAME", lambda one: one.name),
    "status": ScheduleColumn("STATUS", status),
    "rule": ScheduleColumn("RULE", lambda one: rule_text(one.rule)),
    "tz": ScheduleColumn("ZONE", lambda one: one.rule.tz),
    "next_local": ScheduleColumn("NEXT", _on_next(local), _soon_there),
    "next_at": ScheduleColumn("UTC", _on_next(lambda _, at: show_instant(at)), _soon_utc),
    "due": _instant("DUE", "next_at"),
    "last_slot": _instant("LAST", "last_slot"),
    "last_fired_at": _instant("LAST FIRED", "last_fired_at"),
    "fired": ScheduleColumn("FIRED", lambda one: str(one.fired)),
    "skipped": ScheduleColumn("SKIPPED", lambda one: str(one.skipped)),
    "kind": ScheduleColumn("KIND", lambda one: one.work.kind),
    "queue": ScheduleColumn("QUEUE", lambda one: one.work.queue),
    "tenant": ScheduleColumn("TENANT", lambda one: one.work.tenant),
    "source": ScheduleColumn("SOURCE", lambda one: one.source),
    "missed": ScheduleColumn("MISSED", lambda one: one.policy.missed.value),
    "overlap": ScheduleColumn("OVERLAP", lambda one: overlap_text(one.policy)),
    "reason": ScheduleColumn("REASON", lambda one: one.problem or one.pause_reason or ""),
    "created_at": _instant("CREATED", "created_at"),
    "updated_at": _instant("CHANGED", "updated_at"),
    "id": ScheduleColumn("ID", lambda one: one.id),
}

DEFAULT = ("name", "status", "rule", "next_local", "next_at", "last_slot", "fired", "skipped")


def check_columns(text: str) -> tuple[str, ...]:
    """Return the names of the columns; `UsageError` names one that is none."""
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in COLUMNS:
            hint = did_you_mean(name, COLUMNS) or f"; there are {', '.join(COLUMNS)}"
            raise UsageError(f"--columns: {name!r} is no column{hint}")
    return names
