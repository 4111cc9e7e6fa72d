"""Memory over a long life: a worker after 230,000 tasks is as large as after 30,000."""

import psutil
import pytest

from rota.model import State
from tests.system.harness import Site, wait_until
from tests.system.mixed import FIVE

BATCH = 10_000
WARM_UP = 3
BATCHES = 20
PER_100_000 = 1_000_000
"""Bytes by which it may grow."""
LEFT = "select (select count(*) from ready) + (select count(*) from scheduled)"


@pytest.mark.slow
def test_memory_does_not_grow_over_200_000_mixed_tasks(sqlite_site: Site) -> None:
    """Case B148: async, in threads, failing, retried, snoozing, with results."""
    worker = psutil.Process(sqlite_site.start_worker(concurrency=100).pid)
    sizes = []
    for batch in range(WARM_UP + BATCHES):
        _drain(sqlite_site, batch * BATCH)
        sizes.append(worker.memory_info().rss)

    total = (WARM_UP + BATCHES) * BATCH
    counts = sqlite_site.app.tasks.count(cap=total)
    assert counts == {State.COMPLETED: total * 99 // 100, State.FAILED: total // 100}
    assert _slope(sizes[WARM_UP:]) * 100_000 / BATCH < PER_100_000, sizes


def _drain(site: Site, first: int) -> None:
    numbers = range(first, first + BATCH)
    site.app.submit_many(site.app.call(FIVE[n % len(FIVE)], {"n": n}) for n in numbers)
    wait_until(lambda: site.rows(LEFT) == [(0,)], 60)


def _slope(values: list[int]) -> float:
    """Return the growth from one to the next of the straight line that is nearest to them all."""
    places = range(len(values))
    middle, mean = sum(places) / len(values), sum(values) / len(values)
    above = sum((place - middle) * (values[place] - mean) for place in places)
    return above / sum((place - middle) ** 2 for place in places)
