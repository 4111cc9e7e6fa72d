"""What is told of a task in a line each: its facts, but for the large ones."""

from collections.abc import Iterator

from rota.cli.text import relative, visible
from rota.clock import Micros
from rota.model import Progress, State, Task
from rota.times import show_duration, show_instant


def facts(task: Task, now: Micros | None) -> Iterator[tuple[str, str]]:
    """Yield the name and the value of each fact that applies."""
    told = (*_what(task, now), *_run(task, now), *_settled(task), *_given(task, now))
    yield from ((name, value) for name, value in told if value)


def when(at: Micros, now: Micros | None) -> str:
    """Return an instant, and for a person how far it is from now."""
    return show_instant(at) if now is None else f"{show_instant(at)}, {relative(at, now)}"


def _what(task: Task, now: Micros | None) -> Iterator[tuple[str, str]]:
    waits = task.state in (State.SCHEDULED, State.READY)
    yield "kind", visible(task.kind)
    yield "queue", visible(task.queue)
    yield "tenant", visible(task.tenant)
    yield "priority", f"{task.priority} ({task.priority_class.name.lower()})"
    yield "due", when(task.run_at, now) if waits else ""
    yield "schedule", _of_schedule(task)


def _run(task: Task, now: Micros | None) -> Iterator[tuple[str, str]]:
    asked = None if task.state.final else task.cancel_requested_at
    yield "attempt", _attempts(task)
    yield "progress", _progress(task.progress)
    yield "asked", "" if asked is None else f"to stop, {when(asked, now)}"


def _settled(task: Task) -> Iterator[tuple[str, str]]:
    yield "replay", f"of {task.replay_of}" if task.replay_of else ""
    yield "replayed", f"as {task.replayed_as}" if task.replayed_as else ""
    yield "group", visible(task.group or "")
    yield "reason", visible(task.reason or "")


def _given(task: Task, now: Micros | None) -> Iterator[tuple[str, str]]:
    yield "timeout", "" if task.timeout is None else show_duration(task.timeout)
    yield "expires", "" if task.expires_at is None else when(task.expires_at, now)
    yield "key", visible(task.key or "")
    yield "tags", visible(", ".join(task.tags))
    for name, value in task.headers.items():
        yield "header", visible(f"{name}={value}")
    yield "gate", _gate(task)
    yield "session", f"{task.session}, fence {task.fence}" if task.session else ""


def _of_schedule(task: Task) -> str:
    if task.schedule is None:
        return ""
    return task.schedule + ("" if task.slot is None else f", slot {show_instant(task.slot)}")


def _gate(task: Task) -> str:
    if task.concurrency_key is None:
        return ""
    waits = ", waits there" if task.at_gate else ""
    return f"{visible(task.concurrency_key)}, room for {task.max_concurrency or 1:,}{waits}"


def _progress(progress: Progress | None) -> str:
    """Return how far a task says that it is.

    >>> _progress(Progress(120, 500)), _progress(Progress(7))
    ('120 of 500 (24 %)', '7')
    """
    if progress is None:
        return ""
    if not progress.total:
        return f"{progress.done:,}"
    share = 100 * progress.done // progress.total
    return f"{progress.done:,} of {progress.total:,} ({share} %)"


def _attempts(task: Task) -> str:
    most = (task.retry or {}).get("max_attempts")
    parts = [f"{task.attempt} of {most}" if most else str(task.attempt)]
    if task.lost:
        parts.append(f"lost its worker {_times(task.lost)}")
    if task.snoozes:
        parts.append(f"snoozed {_times(task.snoozes)}")
    return ", ".join(parts)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
