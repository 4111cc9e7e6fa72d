"""`rota list`: tasks in a table, as lines for programs, or as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

from cyclopts import Parameter

from rota.app import Rota
from rota.cli.columns import COLUMNS, DEFAULT, check_columns
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common, whole
from rota.cli.output import Output
from rota.cli.problems import UsageError
from rota.cli.watch import changes, live
from rota.cli.which import FILTERS, Filters
from rota.clock import Micros, SystemClock
from rota.insights import PAGE_MOST
from rota.model import Task
from rota.views import summary


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Listing:
    """How much of a list is wanted, and in which form."""

    limit: Annotated[
        int, Parameter(help="How many at most.", converter=whole(1), show_default=True)
    ] = 50
    all_: Annotated[bool, Parameter(name="--all", help="All there are, in place of --limit.")] = (
        False
    )
    columns: Annotated[
        str | None, Parameter(help=f"Which columns, comma between: {', '.join(COLUMNS)}.")
    ] = None
    jsonl: Annotated[bool, Parameter(help="Print one JSON object a line, as they come.")] = False

    def check(self, common: Common, usual: Sequence[str]) -> Sequence[str]:
        """Return the columns that are wanted; `UsageError` if two forms are."""
        if common.json and self.jsonl:
            raise UsageError("--json and --jsonl exclude each other; give one of them")
        if self.columns is None:
            return usual
        if common.json or self.jsonl:
            raise UsageError("--columns is for tables; pick fields of JSON with jq")
        return check_columns(self.columns)


LISTING = Listing()


def list_tasks(
    *,
    where: Filters = FILTERS,
    listing: Listing = LISTING,
    watch: Annotated[
        bool, Parameter(help="Keep looking, until Ctrl-C; into a pipe go the changes.")
    ] = False,
    common: Common = COMMON,
) -> None:
    """List tasks, newest first.

    All filters that are given must match. Into a pipe go the same columns with
    tabs between, in UTC, without a heading; with --json the tasks as the API
    shows them in lists. With --watch a terminal shows the newest tasks live, and a
    pipe gets a line for each that comes or changes.

    For instance:

        $ rota list --state failed --queue sms
        $ rota list --tenant board --all --columns state | sort | uniq -c
        $ rota list --kind report --watch
        $ rota list --state failed --all --jsonl | jq -r .id | rota retry -
    """
    chosen = listing.check(common, DEFAULT)
    if watch and (common.json or listing.all_):
        raise UsageError("--watch shows the newest tasks; not with --json or --all, but --jsonl")
    wanted = where.given
    with open_app(common) as app:
        if watch:
            limit = min(listing.limit, PAGE_MOST)
            _watch(Output(common), app, wanted, limit, () if listing.jsonl else chosen)
        else:
            tell(common, listing, chosen, tasks(app, wanted))


def tell(common: Common, listing: Listing, chosen: Sequence[str], found: Iterator[Task]) -> None:
    """Print tasks in the form that is wanted, and say if there are more."""
    output = Output(common)
    shown = found if listing.all_ else islice(found, listing.limit)
    if common.json:
        output.array(map(summary, shown))
    elif listing.jsonl:
        for task in shown:
            output.object(summary(task))
    else:
        print_tasks(output, chosen, shown)
        # The stream stands where the page ended: one more is one that was not shown.
        if not listing.all_ and next(found, None) is not None:
            output.hint(f"The newest {listing.limit}; for more: --limit N, or --all")


def tasks(app: Rota, where: dict[str, Any]) -> Iterator[Task]:
    """Yield all matching tasks, newest first, read page by page as they are asked for."""
    after = None
    size = 100
    while page := app.tasks.list(after=after, limit=size, **where):
        yield from page
        after = page[-1].id
        size = PAGE_MOST


def _watch(
    output: Output, app: Rota, where: dict[str, Any], limit: int, chosen: Sequence[str]
) -> None:
    """Show tasks until interrupted; without columns as JSON."""

    def read() -> Sequence[Task]:
        return app.tasks.list(limit=limit, **where)

    if chosen and output.terminal:
        live(output, read, lambda screen, page: print_tasks(screen, chosen, iter(page)))
        return
    for task in changes(read):
        if chosen:
            output.fields(COLUMNS[name].plain(task) for name in chosen)
            output.out.flush()
        else:
            output.object(summary(task))


def print_tasks(output: Output, chosen: Sequence[str], shown: Iterator[Task]) -> None:
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
