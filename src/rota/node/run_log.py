"""What is told of runs beside their reports: a line in a log, a span in a trace (R9.3)."""

import logging
from collections.abc import Coroutine
from typing import Any

from rota.node.run import Run
from rota.policy.lifecycle import Ending, Failed, TimedOut, outcome_of
from rota.times import show_instant
from rota.tracing import Tracer

runs = logging.getLogger("rota.run")
"""One record for each run; silent unless logs are for programs."""


def log_run(run: Run, ending: Ending, seconds: float) -> None:
    """Log how a run ended, with everything by which it can be found again."""
    task = run.claimed
    error = ending.error.type if isinstance(ending, Failed | TimedOut) else None
    runs.log(
        logging.INFO if error is None else logging.WARNING,
        "%s %s",
        task.kind,
        outcome := outcome_of(ending),
        extra={
            "event": "task_run",
            "task_id": task.id,
            "kind": task.kind,
            "queue": task.queue,
            "tenant": task.tenant,
            "attempt": task.attempt,
            "fence": task.fence,
            "session": run.session_id,
            "schedule": task.schedule,
            "slot": None if task.slot is None else show_instant(task.slot),
            "duration_s": round(seconds, 6),
            "outcome": outcome,
            "error.type": error,
        },
    )


async def traced(tracer: Tracer, run: Run, work: Coroutine[Any, Any, None]) -> None:
    """Do the work of a run inside a span of its own."""
    run.span = tracer.processing(run.claimed)
    await work
