"""What callers do to tasks that no worker runs: have them run again."""

from collections.abc import Sequence

from rota.config import LEVEL
from rota.model import Micros, RetryOutcome
from rota.store.postgres.rows import possible_ids
from rota.store.postgres.statements import Connection, fetch
from rota.store.postgres.states import standing


async def retry(connection: Connection, ids: Sequence[str], now: Micros) -> list[RetryOutcome]:
    """Make failed and scheduled tasks ready at once; say what became of each."""
    done: set[str] = set()
    asked = possible_ids(ids)
    async with connection.transaction():
        for name in ("retry_failed", "retry_scheduled"):
            rows = await fetch(connection, name, ids=asked, now=now, level=LEVEL)
            done |= {row[0] for row in rows}
        left = [task_id for task_id in asked if task_id not in done]
        found = await standing(connection, left)
    return [_retried(task_id in done, task_id in found) for task_id in ids]


def _retried(done: bool, known: bool) -> RetryOutcome:
    if done:
        return RetryOutcome.COMPLETED
    return RetryOutcome.NOT_RETRYABLE if known else RetryOutcome.NOT_FOUND
