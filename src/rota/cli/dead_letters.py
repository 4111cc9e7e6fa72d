"""`rota dead-letters list | groups | show`: what failed for good, and what failed alike."""

from collections.abc import Iterator
from typing import Annotated, Any

from cyclopts import Parameter

from rota.app import Rota
from rota.cli.ids import find_task
from rota.cli.listing import LISTING, Listing, tell
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common, whole
from rota.cli.output import Output
from rota.cli.show import show_task
from rota.cli.text import one_line, relative
from rota.cli.which import DEAD_LETTER_FILTERS, DeadLetterFilters
from rota.clock import SystemClock
from rota.errors import TaskNotFound
from rota.insights import PAGE_MOST
from rota.model import DeadLetterGroup, State, Task
from rota.times import show_instant
from rota.views import group as group_view

DEFAULT = ("id", "kind", "queue", "tenant", "attempt", "finished_at", "error")
HEADINGS = ("GROUP", "KIND", "ERROR", "COUNT", "FIRST", "LAST", "SHAPE")


def list_(
    *,
    where: DeadLetterFilters = DEAD_LETTER_FILTERS,
    discarded: Annotated[
        bool, Parameter(help="Those that were discarded, instead of those that were not.")
    ] = False,
    listing: Listing = LISTING,
    common: Common = COMMON,
) -> None:
    """List the tasks that failed for good, newest first.

    All filters that are given must match. Output is as of rota list.

    For instance:

        $ rota dead-letters list --queue sms --error ProviderTimeout
        $ rota dead-letters list --discarded --all --columns id,reason
    """
    chosen = listing.check(common, DEFAULT)
    wanted = where.given | {"discarded": discarded}
    with open_app(common) as app:
        tell(common, listing, chosen, _dead_letters(app, wanted))


def groups(
    *,
    where: DeadLetterFilters = DEAD_LETTER_FILTERS,
    limit: Annotated[
        int,
        Parameter(help="How many at most.", converter=whole(1, PAGE_MOST), show_default=True),
    ] = 50,
    common: Common = COMMON,
) -> None:
    """Show what failed alike, the largest group first.

    What failed alike has the same kind, the same type of error and the same words,
    numbers and names apart.

    For instance:

        $ rota dead-letters groups
        $ rota dead-letters replay --group 9f2c41d07ab3 --rate 50
    """
    wanted = where.given
    output = Output(common)
    with open_app(common) as app:
        found = app.dead_letters.groups(limit=limit, **wanted)
    if common.json:
        output.array(map(group_view, found))
    elif not output.terminal:
        for alike in found:
            output.fields(_cells(alike, None))
    elif found:
        now = SystemClock().now()
        output.table(HEADINGS, [_cells(alike, now) for alike in found])
        output.hint(f"Replay one: rota dead-letters replay --group {found[0].id} --rate 50")
    else:
        output.hint("There are no dead letters.")


def show(
    id_: Annotated[
        str, Parameter(name="ID", help="The dead letter's id, or a beginning that only it has.")
    ],
    /,
    *,
    common: Common = COMMON,
) -> None:
    """Show a dead letter: every error with its traceback, payload and timeline.

    For instance:

        $ rota dead-letters show 0193f2a1-7c5e
        $ rota dead-letters show 0193f2a1-7c5e --json | jq .errors
    """
    output = Output(common)
    with open_app(common) as app:
        task = find_dead_letter(app, id_)
    show_task(output, task, common)


def find_dead_letter(app: Rota, text: str) -> Task:
    """Return the dead letter that an id or a unique beginning of one names; `TaskNotFound`."""
    task = find_task(app, text)
    if task.state is not State.FAILED:
        raise TaskNotFound(text, f"task {task.id} is no dead letter: it is {task.state}")
    return task


def _dead_letters(app: Rota, where: dict[str, Any]) -> Iterator[Task]:
    after = None
    while page := app.dead_letters.list(after=after, limit=PAGE_MOST, **where):
        yield from page
        after = page[-1].id


def _cells(alike: DeadLetterGroup, now: int | None) -> list[str]:
    first, last = (
        show_instant(at) if now is None else relative(at, now)
        for at in (alike.first_at, alike.last_at)
    )
    shape = one_line(alike.shape)
    return [alike.id, alike.kind, alike.error_type, str(alike.count), first, last, shape]
