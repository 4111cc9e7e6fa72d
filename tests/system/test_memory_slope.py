"""Memory over a long life: a worker after 340,000 tasks is as large as after 240,000."""

import psutil
import pytest

from rota.model import State
from tests.system.harness import Site, wait_until
from tests.system.mixed import FIVE

BATCH = 10_000
WARM_UP = 24
"""By then SQLite's own caches, 2 MB a connection, are full, also those of the duties that read."""
BATCHES = 10
PER_100_000 = 1_000_000
"""Bytes by which it may grow."""
pytestmark = [pytest.mark.alone, pytest.mark.timeout(180)]
LEFT = "select (select count(*) from ready) + (select count(*) from scheduled)"


def test_memory_does_not_grow_over_100_000_mixed_tasks(sqlite_site: Site) -> None:
    """Case B148: async, in threads, failing, retried, snoozing, with results."""
    worker = psutil.Process(sqlite_site.start_worker(concurrency=100).pid)
    sizes = []
    for batch in range(WARM_UP + BATCHES):
        _drain(sqlite_site, batch * BATCH)
        sizes.append(worker.memory_info().rss)

    total = (WARM_UP + BATCHES) * BATCH
    counts = sqlite_site.app.tasks.count(cap=total)
    assert counts == {State.COMPLETED: total * 99 // 100, State.FAILED: total // 100}
    assert _growth(sizes[WARM_UP:]) * 100_000 / BATCH < PER_100_000, sizes


def _drain(site: Site, first: int) -> None:
    numbers = range(first, first + BATCH)
    site.app.submit_many(site.app.call(FIVE[n % len(FIVE)], {"n": n}) for n in numbers)
    wait_until(lambda: site.rows(LEFT) == [(0,)], 60)


def _growth(sizes: list[int]) -> float:
    """Return how much larger each batch leaves it, by the least of the first and the last half.

    What is in use at a moment comes and goes with how busy the machine is; a leak never goes.
    """
    half = len(sizes) // 2
    return (min(sizes[half:]) - min(sizes[:half])) / half
