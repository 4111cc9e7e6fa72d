"""`rota show`: everything about one task."""

from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from rota.cli.facts import facts, when
from rota.cli.ids import find_task
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common
from rota.cli.output import STYLES, Output
from rota.cli.text import lines, one_line, visible
from rota.clock import Micros, SystemClock
from rota.model import Task
from rota.views import full, moment, timeline


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
    show_task(output, task, common)


def show_task(output: Output, task: Task, common: Common) -> None:
    """Show everything about a task, for people or as JSON."""
    if common.json:
        output.document(full(task) | {"timeline": [moment(each) for each in timeline(task)]})
        return
    # Beside the instant a person sees how long ago it was; a file would keep that for ever.
    now = SystemClock().now() if output.terminal else None
    output.line(f"{task.id}  {output.styled(task.state.value, STYLES[task.state])}")
    for name, value in facts(task, now):
        output.line(f"  {name:<9} {value}")
    _section(output, "Payload", _json(task.payload))
    if task.result is not None:
        _section(output, "Result", _json(task.result))
    if task.checkpoint is not None:
        _section(output, "Checkpoint", _json(task.checkpoint))
    _section(output, "Timeline", _timeline(task, now))
    for error in task.errors:
        head = f"Attempt {error.attempt}: {visible(error.type)}: {one_line(error.message)}"
        _section(output, head, lines(error.traceback.rstrip("\n")) if error.traceback else [])


def _section(output: Output, heading: str, body: list[str]) -> None:
    output.line()
    output.line(output.styled(heading, "bold"))
    for line in body:
        output.line(f"  {line}")


def _json(value: Any) -> list[str]:
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return lines(text)


def _timeline(task: Task, now: Micros | None) -> list[str]:
    told = []
    for happened in timeline(task):
        detail = f": {visible(happened.detail)}" if happened.detail else ""
        told.append(f"{when(happened.at, now)}  {happened.what}{detail}")
    return told
