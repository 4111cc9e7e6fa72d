"""`rota amend` and `rota delete`: for tasks that wait, and for tasks that are over (R5.4)."""

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from cyclopts import Parameter

from rota.changes import check_changes
from rota.cli.bulk import Wording, change_matching, tasks, tell_foreseen
from rota.cli.change import Ids, known_ids
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common, spoken_duration, whole
from rota.cli.output import Output
from rota.cli.problems import Exit, UsageError
from rota.cli.which import FILTERS, MANY, Filters, Many, chosen_by
from rota.reports import AmendReport, DeleteReport


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class To:
    """What the tasks are changed to."""

    to_priority: Annotated[
        int | None, Parameter(help="0 (first) to 10 (last).", converter=whole(0))
    ] = None
    to_queue: Annotated[str | None, Parameter(help="Another queue.")] = None
    to_run_at: Annotated[
        str | None, Parameter(help="When to run: 2026-11-30T10:00:00Z.", metavar="TIME")
    ] = None
    to_timeout: Annotated[
        str | None, Parameter(help="Another time limit: 60s.", metavar="DURATION")
    ] = None
    to_tag: Annotated[
        tuple[str, ...], Parameter(help="In place of all tags; may be repeated.")
    ] = ()

    @property
    def given(self) -> dict[str, Any]:
        """What was typed, by the names of the fields."""
        typed = {
            name.removeprefix("to_"): value
            for name, value in asdict(self).items()
            if value not in (None, ())
        }
        if "tag" in typed:
            typed["tags"] = typed.pop("tag")
        if "timeout" in typed:
            typed["timeout"] = spoken_duration(typed["timeout"])
        if not typed:
            raise UsageError("say what to change, for instance --to-priority 0. See: rota amend -h")
        check_changes(typed)  # a mistake is told before any store is looked for
        return typed


TO = To()

AMENDING = Wording[AmendReport](
    would=lambda foreseen: f"change {tasks(foreseen.done)}",
    did=lambda report: (
        f"{tasks(report.done)} changed"
        + (f", {report.not_waiting:,} left alone: not waiting" if report.not_waiting else "")
        + (f", {report.not_found:,} not found" if report.not_found else "")
    ),
)
DELETING = Wording[DeleteReport](
    would=lambda foreseen: f"delete {tasks(foreseen.done)} for good",
    did=lambda report: (
        f"{tasks(report.done)} deleted"
        + (f", {report.not_finished:,} left alone: not over" if report.not_finished else "")
        + (f", {report.not_found:,} not found" if report.not_found else "")
    ),
)


def amend(
    *ids: Ids, where: Filters = FILTERS, to: To = TO, many: Many = MANY, common: Common = COMMON
) -> int:
    """Change the priority, queue, time, time limit or tags of tasks that wait.

    By a filter it asks first, means what waits unless --state says otherwise, and
    counts. Exit code 0: all changed; 3: not found; 5: not waiting; 7: some of
    each.

    For instance:

        $ rota amend 0193f2a1-7c5e --to-priority 0
        $ rota amend --queue sms --tag exam --to-queue sms-fast --dry-run
    """
    changes = to.given
    return _change("amend", ids, where, many, common, to=changes)


def delete(*ids: Ids, where: Filters = FILTERS, many: Many = MANY, common: Common = COMMON) -> int:
    """Delete tasks that are over, for good.

    By a filter it asks first, means what is completed or cancelled unless --state
    says otherwise, and counts. Exit code 0: all deleted; 3: not found; 5: not
    over; 7: some of each.

    For instance:

        $ rota delete 0193f2a1-7c5e
        $ rota delete --queue sms --created-to 2026-11-01T00:00:00Z --dry-run
    """
    return _change("delete", ids, where, many, common)


def _change(
    verb: str, ids: tuple[str, ...], where: Filters, many: Many, common: Common, **to: Any
) -> int:
    chosen = chosen_by(ids, where, many, verb)
    output = Output(common)
    wording: Wording[Any] = AMENDING if verb == "amend" else DELETING
    with open_app(common) as app:
        every = app.tasks.amend_many if verb == "amend" else app.tasks.delete_many
        if chosen is not None:

            def change(**terms: Any) -> Any:
                return every(**chosen, **to, **terms)

            return change_matching(output, many, change, wording, as_json=common.json)
        if many.dry_run:
            foreseen = every(known_ids(app, ids), dry_run=True, **to)
            return tell_foreseen(output, foreseen, wording, as_json=common.json)
        report = every(known_ids(app, ids), **to)
    change_matching(output, Many(yes=True), lambda **_: report, wording, as_json=common.json)
    return _exit(report)


def _exit(report: AmendReport | DeleteReport) -> Exit:
    if report.done == report.matched:
        return Exit.DONE
    if report.done:
        return Exit.PARTLY
    return Exit.NOT_FOUND if report.not_found == report.matched else Exit.CONFLICT
