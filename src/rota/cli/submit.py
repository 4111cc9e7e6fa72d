"""`rota submit`: stores a task, or a file of them."""

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from rota.app import Rota
from rota.cli.batch import Batch
from rota.cli.calls import Calls
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common
from rota.cli.output import Output
from rota.cli.pairs import payload_of, typed
from rota.cli.problems import UsageError
from rota.cli.task_flags import TASK_FLAGS, TaskFlags
from rota.cli.text import relative, wall
from rota.clock import SystemClock
from rota.errors import TaskNotFound
from rota.model import Accepted, State, Task
from rota.options import Options
from rota.times import show_instant


def submit(
    kind: Annotated[str | None, Parameter(help="The kind of task: a handler's name.")] = None,
    /,
    *pairs: Annotated[
        str, Parameter(name="K=V", help="Arguments: phone=+91 is text, n:=1 is JSON.")
    ],
    batch: Annotated[
        str | None,
        Parameter(
            help='A file of tasks, or - for stdin; on each line {"payload": {…}, "kind": …, '
            "options…}. The options here hold for lines without their own.",
            metavar="FILE",
            allow_leading_hyphen=True,
        ),
    ] = None,
    per_item: Annotated[
        bool, Parameter(help="Go on after a line of a batch that is refused.")
    ] = False,
    any_kind: Annotated[
        bool, Parameter(help="Take a kind that neither the app nor a live worker has.")
    ] = False,
    options: TaskFlags = TASK_FLAGS,
    common: Common = COMMON,
) -> int | None:
    """Store a task, or a file of tasks, durably.

    The kind is checked against the app that is set; without one, against the live
    workers. The same key again finds the first task, says so, and exits 0.

    A batch is read and stored as it comes, and stops at the first line that is
    refused: what precedes it may be stored (exit 7) or not (exit 2). With
    --per-item it goes on and names the refused lines at the end.

    For instance:

        $ rota submit send_result student_id:=1 phone=+91 --app school:app
        $ rota submit send_result student_id:=1 phone=+91 --delay 15m --key hold-17
        $ rota submit send_result --batch tasks.ndjson --tenant board --per-item
    """
    _check_usage(kind, pairs, batch, per_item)
    checked = options.check()
    payload = payload_of(pairs)
    output = Output(common)
    with open_app(common, kinds=True, makes=any_kind) as app:
        calls = Calls(app, any_kind=any_kind)
        checked = options.with_attempts(checked, app.registry.get(kind) if kind else None)
        if batch is not None:
            lines = Batch(calls, kind, checked, output)
            return lines.run(app, batch, per_item=per_item, as_json=common.json)
        with typed():
            call = calls.call(kind or "", payload, checked)
        (accepted,) = app.submit_each([call])
        _tell(output, app, accepted, checked, as_json=common.json)
    return None


def _check_usage(kind: str | None, pairs: Sequence[str], batch: str | None, per_item: bool) -> None:
    help_ = "See: rota submit --help"
    if kind is None and batch is None:
        raise UsageError(f"name the kind of task to submit, or a file with --batch. {help_}")
    if batch is not None and pairs:
        raise UsageError(f"arguments and --batch exclude each other: {pairs[0]!r}. {help_}")
    if batch is None and per_item:
        raise UsageError(f"--per-item is for --batch. {help_}")


def _tell(
    output: Output, app: Rota, accepted: Accepted, options: Options, *, as_json: bool
) -> None:
    try:
        task: Task | None = app.tasks.get(accepted.id)
    except TaskNotFound:  # a key may outlive the record of its task
        task = None
    if as_json:
        output.document(
            {
                "id": accepted.id,
                "created": accepted.created,
                "matched_by": None if accepted.created else "key",
                "state": task.state.value if task else None,
                "run_at": show_instant(task.run_at) if task else None,
            }
        )
        return
    state = task.state.value if task else "gone"
    if not output.terminal:
        how = "created" if accepted.created else "exists"
        output.fields([accepted.id, state, show_instant(task.run_at) if task else "", how])
    elif accepted.created:
        output.line(f"{accepted.id}  {state}{_due(task)}")
    else:
        output.line(f"{accepted.id}  exists already (key {options.key}), {state}{_due(task)}")


def _due(task: Task | None) -> str:
    if task is None or task.state is not State.SCHEDULED:
        return ""
    now = SystemClock().now()
    return f", due {relative(task.run_at, now)} ({wall(task.run_at, now)})"
