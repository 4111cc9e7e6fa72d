"""The columns of a list of tasks: what each is called and what it shows."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rota.cli.problems import UsageError
from rota.cli.text import one_line, relative, short_ids
from rota.clock import Micros
from rota.model import Task
from rota.registry import did_you_mean
from rota.times import show_duration, show_instant


class Column(NamedTuple):
    """A column; exactly one of the sources is set.

    Instants are in UTC for programs and relative for people.
    """

    heading: str
    text: Callable[[Task], str] | None = None
    instant: Callable[[Task], Micros | None] | None = None

    def plain(self, task: Task) -> str:
        """Return the whole value, the same at every time."""
        if self.instant is not None:
            at = self.instant(task)
            return "" if at is None else show_instant(at)
        return self.text(task) if self.text is not None else ""

    def cells(self, page: Sequence[Task], now: Micros) -> list[str]:
        """Return what a person sees of each task."""
        if self.heading == "ID":
            return short_ids([task.id for task in page])
        if self.instant is not None:
            moments = map(self.instant, page)
            return ["" if at is None else relative(at, now) for at in moments]
        return [self.plain(task) for task in page]


def _last_error(task: Task) -> str:
    if not task.errors:
        return ""
    error = task.errors[-1]
    return f"{error.type}: {one_line(error.message)}"


COLUMNS = {
    "id": Column("ID", text=lambda task: task.id),
    "state": Column("STATE", text=lambda task: task.state.value),
    "kind": Column("KIND", text=lambda task: task.kind),
    "queue": Column("QUEUE", text=lambda task: task.queue),
    "tenant": Column("TENANT", text=lambda task: task.tenant),
    "priority": Column("PRI", text=lambda task: str(task.priority)),
    "class": Column("CLASS", text=lambda task: task.priority_class.name.lower()),
    "run_at": Column("DUE", instant=lambda task: task.run_at),
    "attempt": Column("ATT", text=lambda task: str(task.attempt)),
    "created_at": Column("CREATED", instant=lambda task: task.created_at),
    "started_at": Column("STARTED", instant=lambda task: task.started_at),
    "finished_at": Column("FINISHED", instant=lambda task: task.finished_at),
    "expires_at": Column("EXPIRES", instant=lambda task: task.expires_at),
    "timeout": Column(
        "TIMEOUT", text=lambda task: "" if task.timeout is None else show_duration(task.timeout)
    ),
    "schedule": Column("SCHEDULE", text=lambda task: task.schedule or ""),
    "slot": Column("SLOT", instant=lambda task: task.slot),
    "gate": Column("GATE", text=lambda task: task.concurrency_key or ""),
    "key": Column("KEY", text=lambda task: task.key or ""),
    "tags": Column("TAGS", text=lambda task: ",".join(task.tags)),
    "session": Column("SESSION", text=lambda task: task.session or ""),
    "lost_leases": Column("LOST", text=lambda task: str(task.lost)),
    "snoozes": Column("SNOOZES", text=lambda task: str(task.snoozes)),
    "reason": Column("REASON", text=lambda task: task.reason or ""),
    "error": Column("ERROR", text=_last_error),
}

DEFAULT = ("id", "state", "kind", "queue", "tenant", "priority", "run_at", "attempt")


def check_columns(text: str) -> tuple[str, ...]:
    """Return the names of the columns; `UsageError` names one that is none."""
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in COLUMNS:
            hint = did_you_mean(name, COLUMNS) or f"; there are {', '.join(COLUMNS)}"
            raise UsageError(f"--columns: {name!r} is no column{hint}")
    return names
