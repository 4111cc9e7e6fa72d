"""`rota list`: tasks in a table, as lines for programs, or as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Annotated, Any

from cyclopts import Parameter

from rota.app import Rota
from rota.cli.columns import COLUMNS, DEFAULT, check_columns
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common, whole
from rota.cli.output import Output
from rota.cli.problems import UsageError
from rota.clock import Micros, SystemClock
from rota.insights import PAGE_MOST
from rota.model import State, Task
from rota.views import summary


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Filters:
    """Which tasks are wanted; all that are given must match."""

    state: Annotated[tuple[State, ...], Parameter(help="Only this state; may be repeated.")] = ()
    queue: Annotated[str | None, Parameter(help="Only this queue.")] = None
    kind: Annotated[str | None, Parameter(help="Only this kind.")] = None
    tenant: Annotated[str | None, Parameter(help='Only this tenant; "" for those of none.')] = None
    tag: Annotated[str | None, Parameter(help="Only tasks with this tag.")] = None
    key: Annotated[str | None, Parameter(help="Only tasks with this key.")] = None


FILTERS = Filters()


def list_tasks(
    *,
    where: Filters = FILTERS,
    limit: Annotated[
        int, Parameter(help="How many at most.", converter=whole(1), show_default=True)
    ] = 50,
    all_: Annotated[
        bool, Parameter(name="--all", help="All there are, in place of --limit.")
    ] = False,
    columns: Annotated[
        str | None, Parameter(help=f"Which columns, comma between: {', '.join(COLUMNS)}.")
    ] = None,
    jsonl: Annotated[bool, Parameter(help="Print one JSON object a line, as they come.")] = False,
    common: Common = COMMON,
) -> None:
    """List tasks, newest first.

    All filters that are given must match. Into a pipe go the same columns with
    tabs between, in UTC, without a heading; with --json the tasks as the API
    shows them in lists.

    For instance:

        $ rota list --state failed --queue sms
        $ rota list --tenant board --all --columns state | sort | uniq -c
        $ rota list --state failed --all --jsonl | jq -r .id | rota retry -
    """
    if common.json and jsonl:
        raise UsageError("--json and --jsonl exclude each other; give one of them")
    if columns is not None and (common.json or jsonl):
        raise UsageError("--columns is for tables; pick fields of JSON with jq")
    chosen = check_columns(columns) if columns is not None else DEFAULT
    output = Output(common)
    with open_app(common) as app:
        found = tasks(app, asdict(where))
        shown = found if all_ else islice(found, limit)
        if common.json:
            output.array(map(summary, shown))
        elif jsonl:
            for task in shown:
                output.object(summary(task))
        else:
            _print(output, chosen, shown)
            # The stream stands where the page ended: one more is one that was not shown.
            if not all_ and next(found, None) is not None:
                output.hint(f"The newest {limit}; for more: --limit N, or --all")


def tasks(app: Rota, where: dict[str, Any]) -> Iterator[Task]:
    """Yield all matching tasks, newest first, read page by page as they are asked for."""
    after = None
    size = 100
    while page := app.tasks.list(after=after, limit=size, **where):
        yield from page
        after = page[-1].id
        size = PAGE_MOST


def _print(output: Output, chosen: Sequence[str], shown: Iterator[Task]) -> None:
    if not output.terminal:
        for task in shown:
            output.fields(COLUMNS[name].plain(task) for name in chosen)
        return
    now = SystemClock().now()
    headings = [COLUMNS[name].heading for name in chosen]
    first = True
    while page := list(islice(shown, PAGE_MOST)):
        output.table(headings, _rows(chosen, page, now), head=first)
        first = False
    if first:
        output.hint("No tasks match.")


def _rows(chosen: Sequence[str], page: Sequence[Task], now: Micros) -> list[list[str]]:
    columns = [COLUMNS[name].cells(page, now) for name in chosen]
    return [list(row) for row in zip(*columns, strict=True)]
