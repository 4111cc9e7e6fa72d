"""Finishing: what the workers report becomes what the store shall do."""

import logging
from collections.abc import Sequence

from rota.backend import Report
from rota.clock import Rng
from rota.errors import ConfigurationError
from rota.model import Micros, State, Transition
from rota.policy.lifecycle import Completed, decide
from rota.policy.retry import Backoff

log = logging.getLogger("rota.engine")


def transitions(reports: Sequence[Report], now: Micros, rng: Rng) -> list[Transition]:
    """Return a transition for each report; a task's own retry policy goes before its kind's."""
    return [_transition(report, now, rng) for report in reports]


def _transition(report: Report, now: Micros, rng: Rng) -> Transition:
    task, ending = report.task, report.ending
    if type(ending) is Completed:
        # Nearly every report is this one, and nothing about it needs deciding.
        return Transition(
            task.id, task.fence, State.COMPLETED, result=ending.result, keep=report.keep
        )
    return decide(task, ending, _backoff(report), now, rng.random())


def _backoff(report: Report) -> Backoff:
    if report.task.retry is None:
        return report.backoff
    try:
        return Backoff.from_json(report.task.retry)
    except ConfigurationError as error:
        # Written by something newer, perhaps; the task must be able to end all the same.
        log.warning("task %s: %s; the policy of its kind counts", report.task.id, error)
        return report.backoff
