"""`rota cancel` and `rota retry`: what becomes of each task, one line and one answer a task."""

from collections.abc import Callable, Sequence
from typing import Annotated

from cyclopts import Parameter

from rota.app import Rota
from rota.cli.ids import check_words, full_id, named
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common
from rota.cli.output import Output
from rota.cli.problems import Exit, UsageError
from rota.errors import NotRetryable, TaskNotFound
from rota.model import CancelOutcome

Ids = Annotated[
    str,
    Parameter(
        name="ID",
        help="Ids, or beginnings that only one task has; - reads ids from stdin, one a line.",
        allow_leading_hyphen=True,
    ),
]

Change = Callable[[Rota, str], str]
"""Changes one task and returns the outcome."""

_SAID = {
    ("cancel", "completed"): "cancelled",
    ("cancel", "running"): "is running: left alone",
    ("cancel", "too_late"): "is over already: too late",
    ("retry", "completed"): "runs again",
    ("retry", "not_retryable"): "is neither failed nor scheduled: left alone",
}


def cancel(*ids: Ids, common: Common = COMMON) -> int:
    """Cancel tasks that have not started.

    Says of each what became of it. Exit code 0: all cancelled; 3: not found; 5:
    running or over already; 7: some cancelled, some not.

    For instance:

        $ rota cancel 0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44
        $ rota list --state scheduled --tag exam --all --columns id | rota cancel -
    """
    return _each("cancel", ids, _cancel, common)


def retry(*ids: Ids, common: Common = COMMON) -> int:
    """Run failed and scheduled tasks at once.

    A failed task starts counting its attempts anew; a scheduled one is due now.
    Exit code 0: all run again; 3: not found; 5: in another state; 7: some run
    again, some do not.

    For instance:

        $ rota retry 0193f2a1-7c5e
        $ rota list --state failed --queue sms --all --columns id | rota retry -
    """
    return _each("retry", ids, _retry, common)


def _cancel(app: Rota, task_id: str) -> str:
    return app.tasks.cancel(task_id).value


def _retry(app: Rota, task_id: str) -> str:
    try:
        app.tasks.retry(task_id)
    except NotRetryable:
        return "not_retryable"
    return "completed"


def _each(verb: str, words: Sequence[str], change: Change, common: Common) -> int:
    check_words(words, verb)
    output = Output(common)
    outcomes: list[dict[str, str]] = []
    with open_app(common) as app:
        for text in named(words):
            answer = _one(app, text, change)
            outcomes.append(answer)
            if not common.json:
                output.fields([answer["id"], answer.get("detail") or _said(verb, answer)])
    if common.json:
        output.array(outcomes)
    return _exit([item["outcome"] for item in outcomes])


def _one(app: Rota, text: str, change: Change) -> dict[str, str]:
    try:
        task_id = full_id(app, text)
        return {"id": task_id, "outcome": change(app, task_id)}
    except TaskNotFound:
        return {"id": text, "outcome": CancelOutcome.NOT_FOUND.value}
    except UsageError as error:
        # One unclear line must not keep the others from being done.
        return {"id": text, "outcome": "unclear", "detail": str(error)}


def _said(verb: str, answer: dict[str, str]) -> str:
    outcome = answer["outcome"]
    return _SAID.get((verb, outcome), outcome.replace("_", " "))


def _exit(outcomes: Sequence[str]) -> Exit:
    done = outcomes.count("completed")
    if done == len(outcomes):
        return Exit.DONE
    if done:
        return Exit.PARTLY
    only = outcomes[0] if len(set(outcomes)) == 1 else ""
    return {"not_found": Exit.NOT_FOUND, "unclear": Exit.USAGE}.get(only, Exit.CONFLICT)
