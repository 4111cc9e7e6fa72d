"""`rota schedules import`: the lines of a crontab become schedules of the kind `command`."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Parameter

from rota.app import Rota
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common, spoken_duration
from rota.cli.output import Output
from rota.cli.problems import Exit, NoStoreYet
from rota.cli.schedule_crontab import (
    REFUSED,
    File,
    Line,
    gone,
    lines_of,
    open_crontab,
    settled,
    wanted,
)
from rota.cli.schedules import schedules
from rota.contrib.command import add_command
from rota.reconcile import Change, Step
from rota.zones import check_zone

OUTCOMES = ("created", "updated", "unchanged", "refused", "left")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LineFlags:
    """How every line of the file is taken; None is left to the defaults of the kind `command`."""

    tz: Annotated[
        str | None, Parameter(help="Time zone of lines without CRON_TZ; UTC if not given.")
    ] = None
    source: Annotated[
        str | None,
        Parameter(help="What the file is known by, if not by its path: one for each machine."),
    ] = None
    overlap: Annotated[
        str | None, Parameter(help="While a run is not over; cron itself would allow it.")
    ] = None
    missed: Annotated[
        str | None, Parameter(help="What nobody was there to run; cron itself would skip it.")
    ] = None
    jitter: Annotated[str | None, Parameter(help="Start up to so much later: 5m.")] = None
    timeout: Annotated[str | None, Parameter(help="How long a command may run.")] = None
    queue: Annotated[str | None, Parameter(help="Queue, if not the kind's own.")] = None
    tenant: Annotated[str | None, Parameter(help="On whose behalf.")] = None

    @property
    def given(self) -> dict[str, Any]:
        """The options of a schedule that were typed, by their names in Python."""
        given = {
            "overlap": self.overlap, "missed": self.missed,
            "queue": self.queue, "tenant": self.tenant,
            "jitter": None if self.jitter is None else spoken_duration(self.jitter),
            "timeout": None if self.timeout is None else spoken_duration(self.timeout),
        }  # fmt: skip
        return {name: value for name, value in given.items() if value is not None}


LINE_FLAGS = LineFlags()


def import_(
    file: Annotated[
        str,
        Parameter(
            name="FILE", help="A crontab, or - for stdin: crontab -l.", allow_leading_hyphen=True
        ),
    ],
    /,
    *,
    user_column: Annotated[
        bool | None,
        Parameter(
            negative="--no-user-column",
            help="Each line names a user, as in /etc/crontab; found out if not given.",
        ),
    ] = None,
    how: LineFlags = LINE_FLAGS,
    prune: Annotated[
        bool, Parameter(help="Remove the schedules whose lines are no longer in the file.")
    ] = False,
    dry_run: Annotated[
        bool, Parameter(name=["--dry-run", "-n"], help="Change nothing; say what would change.")
    ] = False,
    common: Common = COMMON,
) -> int:
    """Make schedules of the lines of a crontab.

    Each line is one of the built-in kind command and is named after the file and
    its command, so that the same file again updates them. It says of each line
    what became of it. Exit code 1 if some could not be taken; the others are.

    Unlike in cron a run is skipped while the one before it is not over, and the
    last one that was missed is made up for, unless --overlap allow and --missed
    skip say otherwise.

    For instance:

        $ rota schedules import /etc/cron.d/sysstat --tz Europe/Berlin --dry-run
        $ crontab -l | rota schedules import - --source alice@host1
        $ rota worker --allow-commands
    """
    options = how.given
    zone = check_zone(how.tz or "UTC")
    crontab = open_crontab(file, how.source, user_column)
    output = Output(common)
    try:
        with open_app(common, kinds=True, makes=not dry_run, reads=dry_run) as app:
            lines, lost = _imported(app, crontab, zone, options, prune=prune, dry_run=dry_run)
    except NoStoreYet:
        lines, lost = _foreseen(crontab, zone, options)
    if common.json:
        output.document(_document(crontab, lines, lost, prune=prune, dry_run=dry_run))
    else:
        _tell(output, lines, lost, prune=prune, dry_run=dry_run)
        _remind(output, crontab, lines, how.tz)
    return Exit.FAILED if any(line.outcome in REFUSED for line in lines) else Exit.DONE


def _imported(
    app: Rota, file: File, tz: str, options: dict[str, Any], *, prune: bool, dry_run: bool
) -> tuple[list[Line], list[str]]:
    """Store what the lines say; return what became of each, and which schedules have no line."""
    lines = lines_of(file, add_command(app).kind, tz, options)
    stored = list(schedules(app, {"source": file.source}))
    lost = gone(lines, stored)
    # Of a line that cannot be read nobody knows which schedule was made of it.
    unread = any(not line.understood for line in lines)
    refused = {line.name for line in lines if line.declared is None}
    keep = [one for one in stored if one.name in refused]
    keep += lost if unread or not prune else []
    act = app.schedules.plan if dry_run else app.schedules.apply
    steps = act(wanted(lines, keep), source=file.source)
    return settled(lines, steps), [schedule.name for schedule in lost]


def _foreseen(file: File, tz: str, options: dict[str, Any]) -> tuple[list[Line], list[str]]:
    """Return what would become of the lines in a store that is not there yet."""
    lines = lines_of(file, add_command(Rota()).kind, tz, options)
    new = [Step(name=line.name or "", change=Change.CREATE) for line in lines if line.declared]
    return settled(lines, new), []


def _document(
    file: File, lines: Sequence[Line], lost: Sequence[str], *, prune: bool, dry_run: bool
) -> dict[str, Any]:
    return {
        "source": file.source,
        "user_column": file.user_column,
        "dry_run": dry_run,
        "lines": [_line(line) for line in lines],
        "gone": list(lost),
        "pruned": prune and _prunes(lines),
    }


def _line(line: Line) -> dict[str, Any]:
    told = ("outcome", "name", "expression", "tz", "detail")
    return {"line": line.number} | {name: getattr(line, name) for name in told}


def _tell(
    output: Output,
    lines: Sequence[Line],
    lost: Sequence[str],
    *,
    prune: bool,
    dry_run: bool,
) -> None:
    rows = [_cells(line) for line in lines]
    pruned = prune and _prunes(lines)
    rows += [["", "deleted" if pruned else "gone", name, "", ""] for name in lost]
    if output.terminal and rows:
        output.table(("LINE", "BECAME", "SCHEDULE", "RULE", "WHY"), rows)
    else:
        for row in rows:
            output.fields(row)
    output.hint(_summary(lines, lost, pruned=pruned, dry_run=dry_run))
    if lost and prune and not pruned:
        output.hint("Nothing is deleted while a line cannot be read.")
    elif lost and not prune:
        output.hint("Gone from the file: --prune deletes their schedules.")


def _remind(output: Output, file: File, lines: Sequence[Line], tz: str | None) -> None:
    """Say what was assumed of the file."""
    if file.user_column:
        output.hint("Each line names a user; if it does not, say --no-user-column.")
    if tz is None and any(line.tz == "UTC" for line in lines):
        output.hint("Times are read as UTC; --tz names another zone, and so does CRON_TZ.")


def _cells(line: Line) -> list[str]:
    rule = "" if line.expression is None else f"{line.expression} ({line.tz})"
    return [str(line.number), line.outcome, line.name or "", rule, line.detail]


def _summary(lines: Sequence[Line], lost: Sequence[str], *, pruned: bool, dry_run: bool) -> str:
    counted = Counter(line.outcome for line in lines)
    parts = [f"{counted[outcome]:,} {outcome}" for outcome in OUTCOMES if counted[outcome]]
    if lost:
        parts.append(f"{len(lost):,} {'deleted' if pruned else 'gone'}")
    told = ", ".join(parts) or "no line runs anything"
    return f"Would be: {told}." if dry_run else f"{told}."


def _prunes(lines: Sequence[Line]) -> bool:
    return all(line.understood for line in lines)
