"""Finishing: what the workers report becomes what the store shall do."""

import logging
from collections.abc import Callable, Sequence

from msgspec import structs

from rota.backend import Report
from rota.clock import Rng
from rota.config import LEVEL
from rota.errors import ConfigurationError
from rota.model import Micros, NewTask, State, Transition, rank_of
from rota.policy.lifecycle import Completed, decide
from rota.policy.retry import Backoff
from rota.policy.terms import Terms

log = logging.getLogger("rota.engine")


def ranked(tasks: Sequence[NewTask], terms: Terms) -> list[NewTask]:
    """Return the tasks with the ranks that they have in their queues (R7.2)."""
    return [
        task
        if (aging := terms.aging(task.queue)) == LEVEL
        else structs.replace(task, rank=rank_of(task.run_at, task.priority, aging))
        for task in tasks
    ]


def transitions(
    reports: Sequence[Report], now: Micros, rng: Rng, aging: Callable[[str], Micros]
) -> list[Transition]:
    """Return a transition for each report; a task's own retry policy goes before its kind's.

    `aging` says of a queue how fast its tasks rise (R7.2).
    """
    return [_transition(report, now, rng, aging) for report in reports]


def _transition(
    report: Report, now: Micros, rng: Rng, aging: Callable[[str], Micros]
) -> Transition:
    task, ending = report.task, report.ending
    if type(ending) is Completed:
        # Nearly every report is this one, and nothing about it needs deciding.
        return Transition(
            task.id, task.fence, State.COMPLETED, result=ending.result, keep=report.keep
        )
    return decide(task, ending, _backoff(report), now, rng.random(), aging=aging(task.queue))


def _backoff(report: Report) -> Backoff:
    if report.task.retry is None:
        return report.backoff
    try:
        return Backoff.from_json(report.task.retry)
    except ConfigurationError as error:
        # Written by something newer, perhaps; the task must be able to end all the same.
        log.warning("task %s: %s; the policy of its kind counts", report.task.id, error)
        return report.backoff
