"""`rota show`: everything about one task."""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from rota.cli.ids import find_task
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common
from rota.cli.output import STYLES, Output
from rota.cli.text import lines, one_line, relative, visible
from rota.clock import Micros, SystemClock
from rota.model import State, Task
from rota.times import show_duration, show_instant
from rota.views import full


def show(
    id_: Annotated[
        str, Parameter(name="ID", help="The task's id, or a beginning that only it has.")
    ],
    /,
    *,
    common: Common = COMMON,
) -> None:
    """Show a task: its timeline, attempts, errors, payload and result.

    A beginning of 8 digits or more will do if no other task has the same.

    For instance:

        $ rota show 0193f2a1-7c5e
        $ rota show 0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44 --json | jq .errors
    """
    output = Output(common)
    with open_app(common) as app:
        task = find_task(app, id_)
    if common.json:
        output.document(full(task))
        return
    # Beside the instant a person sees how long ago it was; a file would keep that for ever.
    now = SystemClock().now() if output.terminal else None
    output.line(f"{task.id}  {output.styled(task.state.value, STYLES[task.state])}")
    for name, value in _facts(task, now):
        output.line(f"  {name:<9} {value}")
    _section(output, "Payload", _json(task.payload))
    if task.result is not None:
        _section(output, "Result", _json(task.result))
    _section(output, "Timeline", _timeline(task, now))
    for error in task.errors:
        head = f"Attempt {error.attempt}: {visible(error.type)}: {one_line(error.message)}"
        _section(output, head, lines(error.traceback.rstrip("\n")) if error.traceback else [])


def _section(output: Output, heading: str, body: list[str]) -> None:
    output.line()
    output.line(output.styled(heading, "bold"))
    for line in body:
        output.line(f"  {line}")


def _facts(task: Task, now: Micros | None) -> Iterator[tuple[str, str]]:
    yield "kind", visible(task.kind)
    yield "queue", visible(task.queue)
    if task.tenant:
        yield "tenant", visible(task.tenant)
    yield "priority", f"{task.priority} ({task.priority_class.name.lower()})"
    if task.state in (State.SCHEDULED, State.READY):
        yield "due", _when(task.run_at, now)
    yield "attempt", _attempts(task)
    if task.reason:
        yield "reason", visible(task.reason)
    if task.timeout is not None:
        yield "timeout", show_duration(task.timeout)
    if task.expires_at is not None:
        yield "expires", _when(task.expires_at, now)
    if task.key is not None:
        yield "key", visible(task.key)
    if task.tags:
        yield "tags", visible(", ".join(task.tags))
    for name, value in task.headers.items():
        yield "header", visible(f"{name}={value}")
    if task.session is not None:
        yield "session", f"{task.session}, fence {task.fence}"


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


def _when(at: Micros, now: Micros | None) -> str:
    return show_instant(at) if now is None else f"{show_instant(at)}, {relative(at, now)}"


def _json(value: Any) -> list[str]:
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return lines(text)


def _timeline(task: Task, now: Micros | None) -> list[str]:
    events = [(task.created_at, "created")]
    if task.run_at > task.created_at:
        events.append((task.run_at, "due"))
    if task.started_at is not None:
        events.append((task.started_at, f"attempt {task.attempt} started"))
    events += [
        (error.at, f"attempt {error.attempt} failed: {visible(error.type)}")
        for error in task.errors
    ]
    if task.finished_at is not None:
        events.append((task.finished_at, task.state.value))
    # Stable: what happened in the same microsecond stays in the order of a task's life.
    events.sort(key=lambda event: event[0])
    return [f"{_when(at, now)}  {what}" for at, what in events]
