"""`rota cancel` and `rota retry`: what becomes of each task that is named, or of all that match."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any

from cyclopts import Parameter

from rota.app import Rota
from rota.cli.bulk import Wording, change_matching, tasks, tell_foreseen
from rota.cli.ids import Meant, meant, named
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common, spoken_duration
from rota.cli.output import Output
from rota.cli.problems import Exit
from rota.cli.which import FILTERS, MANY, Filters, Many, chosen_by
from rota.reports import CancelReport, RetryReport

Ids = Annotated[
    str,
    Parameter(
        name="ID",
        help="Ids, or beginnings that only one task has; - reads ids from stdin, one a line.",
        allow_leading_hyphen=True,
    ),
]

Each = Callable[[Sequence[str]], Iterator[tuple[str, Any]]]
"""Changes tasks by their full ids and says what became of each."""

_SAID = {
    ("cancel", "completed"): "cancelled",
    ("cancel", "accepted"): "is running: asked to stop",
    ("cancel", "too_late"): "is over already: too late",
    ("retry", "completed"): "runs again",
    ("retry", "not_retryable"): "is neither failed nor scheduled: left alone",
}
_DONE = ("completed", "accepted")

CANCELLING = Wording[CancelReport](
    would=lambda foreseen: (
        f"cancel {tasks(foreseen.completed + foreseen.accepted)}"
        + (f", {foreseen.accepted:,} of them running" if foreseen.accepted else "")
    ),
    did=lambda report: (
        f"{tasks(report.completed)} cancelled"
        + (f", {report.accepted:,} asked to stop" if report.accepted else "")
        + (f", {report.too_late:,} too late" if report.too_late else "")
    ),
)
RETRYING = Wording[RetryReport](
    would=lambda foreseen: f"run {tasks(foreseen.completed)} again",
    did=lambda report: (
        f"{tasks(report.completed)} run again"
        + (f", {report.not_retryable:,} left alone" if report.not_retryable else "")
    ),
)


def cancel(
    *ids: Ids,
    where: Filters = FILTERS,
    deadline: Annotated[
        str | None,
        Parameter(help="What still runs after this is ended: 60s.", metavar="DURATION"),
    ] = None,
    many: Many = MANY,
    common: Common = COMMON,
) -> int:
    """Cancel tasks that have not started; ask those that run to stop.

    By ids it says of each what became of it. Exit code 0: all cancelled or asked
    to stop; 3: not found; 5: over already; 7: some of each. By a filter it asks
    first, means what is not over unless --state says otherwise, and counts.

    For instance:

        $ rota cancel 0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44
        $ rota list --state scheduled --tag exam --all --columns id | rota cancel -
        $ rota cancel --queue sms --tag results --deadline 60s --dry-run
    """
    chosen = chosen_by(ids, where, many, "cancel")
    until: dict[str, Any] = {} if deadline is None else {"deadline": spoken_duration(deadline)}
    output = Output(common)
    with open_app(common) as app:
        every = app.tasks.cancel_many
        if chosen is not None:

            def change(**terms: Any) -> CancelReport:
                return every(**chosen, **until, **terms)

            return change_matching(output, many, change, CANCELLING, as_json=common.json)
        if many.dry_run:
            foreseen = every(known_ids(app, ids), dry_run=True)
            return tell_foreseen(output, foreseen, CANCELLING, as_json=common.json)
        each: Each = lambda found: app.tasks.cancel_each(found, **until)  # noqa: E731
        return change_each("cancel", app, ids, each, common)


def retry(*ids: Ids, where: Filters = FILTERS, many: Many = MANY, common: Common = COMMON) -> int:
    """Run failed and scheduled tasks at once.

    A failed task starts counting its attempts anew; a scheduled one is due now. By
    ids it says of each what became of it. Exit code 0: all run again; 3: not
    found; 5: in another state; 7: some of each. By a filter it asks first, means
    what failed unless --state says otherwise, and counts.

    For instance:

        $ rota retry 0193f2a1-7c5e
        $ rota list --state failed --queue sms --all --columns id | rota retry -
        $ rota retry --queue sms --error ProviderTimeout --yes
    """
    chosen = chosen_by(ids, where, many, "retry")
    output = Output(common)
    with open_app(common) as app:
        every = app.tasks.retry_many
        if chosen is not None:

            def change(**terms: Any) -> RetryReport:
                return every(**chosen, **terms)

            return change_matching(output, many, change, RETRYING, as_json=common.json)
        if many.dry_run:
            foreseen = every(known_ids(app, ids), dry_run=True)
            return tell_foreseen(output, foreseen, RETRYING, as_json=common.json)
        return change_each("retry", app, ids, app.tasks.retry_each, common)


def known_ids(app: Rota, words: Sequence[str]) -> Iterator[str]:
    """Yield the ids of what the words name; a word that names nothing as it stands."""
    for batch in meant(app, named(words)):
        for one in batch:
            yield one.id or one.text


def change_each(verb: str, app: Rota, words: Sequence[str], each: Each, common: Common) -> int:
    """Change the tasks that are named, batch by batch, and say what became of each."""
    output = Output(common)
    outcomes: list[dict[str, str]] = []
    for batch in meant(app, named(words)):
        became = dict(each([one.id for one in batch if one.id]))
        for one in batch:
            answer = _answer(one, became)
            outcomes.append(answer)
            if not common.json:
                output.fields([answer["id"], answer.get("detail") or _said(verb, answer)])
    if common.json:
        output.array(outcomes)
    return exit_code([answer["outcome"] for answer in outcomes])


def _answer(one: Meant, became: dict[str, Any]) -> dict[str, str]:
    if one.unclear:
        # One unclear line must not keep the others from being done.
        return {"id": one.text, "outcome": "unclear", "detail": one.unclear}
    outcome = became.get(one.id or "")
    if one.id is None or outcome is None:
        return {"id": one.text, "outcome": "not_found"}
    return {"id": one.id, "outcome": outcome.value}


def _said(verb: str, answer: dict[str, str]) -> str:
    outcome = answer["outcome"]
    return _SAID.get((verb, outcome), outcome.replace("_", " "))


def exit_code(outcomes: Sequence[str]) -> Exit:
    """Return the exit code for what became of several tasks."""
    done = sum(outcome in _DONE for outcome in outcomes)
    if done == len(outcomes):
        return Exit.DONE
    if done:
        return Exit.PARTLY
    only = outcomes[0] if len(set(outcomes)) == 1 else ""
    return {"not_found": Exit.NOT_FOUND, "unclear": Exit.USAGE}.get(only, Exit.CONFLICT)
