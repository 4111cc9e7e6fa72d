"""`rota schedules pause | resume | run-now | backfill | delete`."""

import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from rota.app import Rota
from rota.cli.bulk import tasks
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common
from rota.cli.output import Output
from rota.cli.people import can_answer
from rota.cli.problems import Exit, UsageError
from rota.cli.schedule_clock import clock_there, day_there
from rota.cli.schedules import Name
from rota.errors import ScheduleNotFound
from rota.schedule import Schedule

Names = Annotated[str, Parameter(name="NAME", help="Names of schedules, or their ids.")]


def pause(
    *names: Names,
    reason: Annotated[str | None, Parameter(help="Why; shown beside the schedule.")] = None,
    common: Common = COMMON,
) -> int:
    """Let schedules fire nothing until they are resumed.

    Tasks that they made already go on. The slots of a pause are recorded as
    skipped.

    For instance:

        $ rota schedules pause nightly-report --reason "the exam was moved"
    """

    def act(app: Rota, name: str) -> str:
        app.schedules.pause(name, reason)
        return "paused"

    return _each(names, "pause", act, common)


def resume(*names: Names, common: Common = COMMON) -> int:
    """Let paused schedules fire again, from now on.

    What lay in the pause is not made up for; rota schedules backfill does that.

    For instance:

        $ rota schedules resume nightly-report
    """

    def act(app: Rota, name: str) -> str:
        schedule = app.schedules.resume(name)
        at = schedule.next_at
        return "over" if at is None else f"active, next {clock_there(schedule, at)}"

    return _each(names, "resume", act, common)


def run_now(
    name: Name,
    /,
    *,
    force: Annotated[
        bool, Parameter(help="Also while a run is not over; it waits for that one.")
    ] = False,
    common: Common = COMMON,
) -> None:
    """Make a task of a schedule at once, besides its slots.

    Its next slot stays where it is, and a paused schedule stays paused. Exit code
    5 if a run is not over and the schedule must not overlap itself.

    For instance:

        $ rota schedules run-now nightly-report
    """
    output = Output(common)
    with open_app(common) as app:
        accepted = app.schedules.run_now(name, force=force)
    if common.json:
        output.document({"id": accepted.id, "schedule": name})
    else:
        output.line(accepted.id if not output.terminal else f"{accepted.id}  submitted")


def backfill(
    name: Name,
    /,
    *,
    from_: Annotated[
        str, Parameter(name="--from", help="From this day on, in its zone, or this instant.")
    ],
    to: Annotated[str, Parameter(help="Up to then, then itself left out.")],
    dry_run: Annotated[
        bool, Parameter(name=["--dry-run", "-n"], help="Change nothing; say what would run.")
    ] = False,
    common: Common = COMMON,
) -> None:
    """Make tasks of the slots in a range that have none.

    A slot becomes one task, however often this is called. At most 10,000 slots at
    a time; they run from now on, one after another unless they may overlap.

    For instance:

        $ rota schedules backfill nightly --from 2026-11-01 --to 2026-11-08 -n
        $ rota schedules backfill hourly --from 2026-11-01T09:00Z --to 2026-11-02
    """
    output = Output(common)
    with open_app(common) as app:
        schedule = app.schedules.get(name)
        start, end = day_there(schedule, from_), day_there(schedule, to)
        report = app.schedules.backfill(name, start, end, dry_run=dry_run)
    if common.json:
        output.document(msgspec.to_builtins(report))
    elif dry_run:
        output.line(f"{_slots(report.made)} would run, {_exist(report.existing)} already")
    else:
        output.line(f"{tasks(report.made)} made, {_exist(report.existing)} already")


def delete(
    *names: Names,
    yes: Annotated[bool, Parameter(name=["--yes", "-y"], help="Do not ask.")] = False,
    common: Common = COMMON,
) -> int:
    """Remove schedules and the record of their slots; their tasks are left alone.

    It asks first. A schedule that code declares comes back when a worker of that
    code starts.

    For instance:

        $ rota schedules delete nightly-report
        $ rota schedules delete nightly-report --yes
    """

    def act(app: Rota, name: str) -> str:
        app.schedules.delete(name)
        return "deleted"

    return _each(names, "delete", act, common, ask=not yes)


def _each(
    names: Sequence[str],
    verb: str,
    act: Callable[[Rota, str], str],
    common: Common,
    *,
    ask: bool = False,
) -> int:
    """Do something to each schedule and say what became of it; a missing one stops no other."""
    if not names:
        raise UsageError(f"name at least one schedule. See: rota schedules {verb} --help")
    output = Output(common)
    answers: list[dict[str, Any]] = []
    with open_app(common) as app:
        found = [_find(app, name) for name in names]
        if ask and any(found):
            _ask(verb, sum(one is not None for one in found))
        for name, schedule in zip(names, found, strict=True):
            became = "not found" if schedule is None else _acted(app, schedule, act)
            shown = name if schedule is None else schedule.name
            answers.append({"name": shown, "outcome": became.partition(",")[0].replace(" ", "_")})
            if not common.json:
                output.fields([shown, became])
    if common.json:
        output.array(answers)
    missing = sum(answer["outcome"] == "not_found" for answer in answers)
    if not missing:
        return Exit.DONE
    return Exit.NOT_FOUND if missing == len(answers) else Exit.PARTLY


def _find(app: Rota, name: str) -> Schedule | None:
    try:
        return app.schedules.get(name)
    except ScheduleNotFound:
        return None


def _acted(app: Rota, schedule: Schedule, act: Callable[[Rota, str], str]) -> str:
    try:
        return act(app, schedule.id)
    except ScheduleNotFound:  # somebody else was faster
        return "not found"


def _ask(verb: str, count: int) -> None:
    question = f"{verb} {count:,} schedule{'' if count == 1 else 's'}"
    if not can_answer():
        raise UsageError(f"say --yes to {question}")
    sys.stderr.write(f"{question[:1].upper()}{question[1:]}? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was changed")


def _slots(count: int) -> str:
    return f"{count:,} slot{'' if count == 1 else 's'}"


def _exist(count: int) -> str:
    return f"{count:,} {'exists' if count == 1 else 'exist'}"
