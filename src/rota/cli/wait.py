"""`rota wait`: waits until a task is over; the exit code says how it ended."""

from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from rota.cli.ids import find_task
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common, spoken_duration
from rota.cli.output import STYLES, Output
from rota.cli.problems import Exit
from rota.cli.text import one_line, visible
from rota.model import State, Task
from rota.views import full


def wait(
    id_: Annotated[
        str, Parameter(name="ID", help="The task's id, or a beginning that only it has.")
    ],
    /,
    *,
    timeout: Annotated[
        str | None, Parameter(help="How long to wait at most: 30s. Without: for ever.")
    ] = None,
    common: Common = COMMON,
) -> int:
    """Wait until a task is over and print its result.

    Exit code 0: completed; 1: failed or cancelled; 124: not over in time.

    For instance:

        $ rota wait 0193f2a1-7c5e --timeout 30s
        $ rota wait $(rota submit report day=x --json | jq -r .id) && echo sent
    """
    output = Output(common)
    limit = None if timeout is None else spoken_duration(timeout)
    with open_app(common) as app:
        task = app.tasks.ended(find_task(app, id_).id, limit)
    if common.json:
        output.document(full(task))
    elif task.state is State.COMPLETED:
        output.line(visible(_text(task.result)))
    else:
        output.hint(f"{output.styled(task.state.value, STYLES[task.state])}{_why(task)}")
    return Exit.DONE if task.state is State.COMPLETED else Exit.FAILED


def _text(result: Any) -> str:
    return result if isinstance(result, str) else msgspec.json.encode(result).decode()


def _why(task: Task) -> str:
    if task.state is State.FAILED and task.errors:
        return f": {visible(task.errors[-1].type)}: {one_line(task.errors[-1].message)}"
    return f": {one_line(task.reason)}" if task.reason else ""
