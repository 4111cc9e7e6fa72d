"""`rota schedules list | show | slots`: what recurs, when next, and what became of each slot."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

from cyclopts import Parameter

from rota import views
from rota.app import Rota
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common, whole
from rota.cli.output import Output
from rota.cli.problems import UsageError
from rota.cli.schedule_clock import seen
from rota.cli.schedule_columns import COLUMNS, DEFAULT, check_columns
from rota.cli.schedule_facts import show_schedule, slot_cells
from rota.clock import SystemClock
from rota.insights import PAGE_MOST
from rota.schedule import Schedule, Slot
from rota.slot_task import calendar_of
from rota.times import moment

NEXT = 5
LAST = 10
SLOT_HEADINGS = ("SLOT", "BECAME", "COUNT", "DECIDED", "TASK")

Name = Annotated[str, Parameter(name="NAME", help="The schedule's name, or its id.")]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ScheduleFilters:
    """Which schedules are wanted; all that are given must match."""

    kind: Annotated[str | None, Parameter(help="Only those that make this kind of task.")] = None
    tenant: Annotated[str | None, Parameter(help='Only this tenant; "" for those of none.')] = None
    source: Annotated[
        str | None, Parameter(help="Only those declared there: crontab:/etc/crontab.")
    ] = None
    paused: Annotated[bool, Parameter(help="Only those that are paused.")] = False
    not_paused: Annotated[bool, Parameter(help="Only those that are not.")] = False

    @property
    def given(self) -> dict[str, Any]:
        """What was typed, by the names of the filters in Python."""
        if self.paused and self.not_paused:
            raise UsageError("--paused and --not-paused exclude each other")
        typed: dict[str, Any] = {"kind": self.kind, "tenant": self.tenant, "source": self.source}
        where = {name: value for name, value in typed.items() if value is not None}
        return where | ({"paused": self.paused} if self.paused or self.not_paused else {})


FILTERS = ScheduleFilters()


def list_(
    *,
    where: ScheduleFilters = FILTERS,
    limit: Annotated[
        int, Parameter(help="How many at most.", converter=whole(1), show_default=True)
    ] = 50,
    all_: Annotated[
        bool, Parameter(name="--all", help="All there are, in place of --limit.")
    ] = False,
    columns: Annotated[
        str | None, Parameter(help=f"Which columns, comma between: {', '.join(COLUMNS)}.")
    ] = None,
    common: Common = COMMON,
) -> None:
    """List schedules by name: when each runs next, and what it has done.

    The next run by the clocks of the schedule's zone and in UTC, the last slot,
    and how many slots became tasks or were skipped. Output is as of rota list.

    For instance:

        $ rota schedules list
        $ rota schedules list --paused --columns name,reason
        $ rota schedules list --source crontab:/etc/crontab --json
    """
    if columns is not None and common.json:
        raise UsageError("--columns is for tables; pick fields of JSON with jq")
    chosen = DEFAULT if columns is None else check_columns(columns)
    wanted = where.given
    output = Output(common)
    with open_app(common) as app:
        found = schedules(app, wanted)
        shown = found if all_ else islice(found, limit)
        if common.json:
            output.array(map(seen, shown))
            return
        _print(output, chosen, shown)
        if not all_ and next(found, None) is not None:
            output.hint(f"The first {limit}; for more: --limit N, or --all")


def show(name: Name, /, *, common: Common = COMMON) -> None:
    """Show a schedule: its rule, its policies, the next runs, the last slots.

    For instance:

        $ rota schedules show nightly-report
        $ rota schedules show nightly-report --json | jq .next
    """
    output = Output(common)
    with open_app(common) as app:
        schedule = app.schedules.get(name)
        readable = schedule.problem is None
        ahead = app.schedules.preview(schedule.id, count=NEXT) if readable else []
        last = app.schedules.slots(schedule.id, limit=LAST)
    if common.json:
        output.document(
            seen(schedule)
            | {
                "words": calendar_of(schedule.rule).words if readable else None,
                "next": [views.occurrence(slot) for slot in ahead],
                "last": [views.slot(slot) for slot in last],
            }
        )
    else:
        show_schedule(output, schedule, ahead, last)


def slots(
    name: Name,
    /,
    *,
    before: Annotated[
        str | None, Parameter(help="Only slots before then: 2026-11-30T10:00:00Z.")
    ] = None,
    limit: Annotated[
        int, Parameter(help="How many at most.", converter=whole(1, PAGE_MOST), show_default=True)
    ] = 50,
    common: Common = COMMON,
) -> None:
    """List what became of a schedule's slots, newest first.

    A task, or the reason why there is none: skipped:missed, skipped:overlap,
    skipped:gap, skipped:paused. They are known for 30 days.

    For instance:

        $ rota schedules slots nightly-report
        $ rota schedules slots nightly-report --before 2026-11-30T00:00:00Z --json
    """
    if before is not None:
        moment(before, "before")  # a mistake is told before any store is looked for
    output = Output(common)
    with open_app(common) as app:
        schedule = app.schedules.get(name)
        found = app.schedules.slots(schedule.id, before=before, limit=limit)
    if common.json:
        output.array(map(views.slot, found))
    else:
        print_slots(output, schedule, found)


def schedules(app: Rota, where: dict[str, Any]) -> Iterator[Schedule]:
    """Yield all matching schedules by name, read page by page as they are asked for."""
    after = ""
    while page := app.schedules.list(after=after, limit=PAGE_MOST, **where):
        yield from page
        after = page[-1].name


def print_slots(output: Output, schedule: Schedule, found: Sequence[Slot]) -> None:
    """Show slots: a table on a terminal, else a line each for programs."""
    if not output.terminal:
        for slot in found:
            output.fields(slot_cells(schedule, slot, None))
    elif found:
        now = SystemClock().now()
        output.table(SLOT_HEADINGS, [slot_cells(schedule, slot, now) for slot in found])
    else:
        output.hint("No slot has been decided.")


def _print(output: Output, chosen: Sequence[str], shown: Iterator[Schedule]) -> None:
    if not output.terminal:
        for schedule in shown:
            output.fields(COLUMNS[name].plain(schedule) for name in chosen)
        return
    now = SystemClock().now()
    rows = [[COLUMNS[name].cell(schedule, now) for name in chosen] for schedule in shown]
    if rows:
        output.table([COLUMNS[name].heading for name in chosen], rows)
    else:
        output.hint("There are no schedules that match.")
