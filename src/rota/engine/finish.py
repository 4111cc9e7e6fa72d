"""Finishing: what the workers report becomes what the store shall do."""

from collections.abc import Sequence

from rota.backend import Report
from rota.clock import Rng
from rota.model import Micros, State, Transition
from rota.policy.lifecycle import Completed, decide
from rota.policy.retry import Backoff


def transitions(reports: Sequence[Report], now: Micros, rng: Rng) -> list[Transition]:
    """Return a transition for each report; a task's own retry policy goes before its kind's."""
    return [_transition(report, now, rng) for report in reports]


def _transition(report: Report, now: Micros, rng: Rng) -> Transition:
    task, ending = report.task, report.ending
    if type(ending) is Completed:
        # Nearly every report is this one, and nothing about it needs deciding.
        return Transition(task.id, task.fence, State.COMPLETED, result=ending.result)
    backoff = Backoff.from_json(task.retry) if task.retry else report.backoff
    return decide(task, ending, backoff, now, rng.random())
