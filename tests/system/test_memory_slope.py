"""Memory over a long life: a worker uses as much after 140,000 tasks as after 40,000."""

import pytest

from rota.model import State
from tests.system.harness import Site, wait_until
from tests.system.mixed import FIVE

BATCH = 10_000
WARM_UP = 4
BATCHES = 10
THREADS = 100
BLOCKS = 5_000
"""Python's objects by which it may grow; one forgotten by each of the five kinds were 20,000."""
BYTES = 300_000
"""The same for what libraries allocate."""
pytestmark = [pytest.mark.alone, pytest.mark.timeout(180)]
LEFT = "select (select count(*) from ready) + (select count(*) from scheduled)"


def test_memory_does_not_grow_over_100_000_mixed_tasks(sqlite_site: Site) -> None:
    """Case B148: async, in threads, failing, retried, snoozing, with results.

    What the process holds of the system's memory says little: the spare memory of 100 threads grows
    for minutes, up to a bound, while what is in use stays the same.
    """
    sqlite_site.start_worker(concurrency=THREADS)
    _start_threads(sqlite_site)
    used = []
    for batch in range(WARM_UP + BATCHES):
        _drain(sqlite_site, batch * BATCH)
        used.append(_in_use(sqlite_site, batch))

    total, failed = (WARM_UP + BATCHES) * BATCH, (WARM_UP + BATCHES) * BATCH // 100
    counts = sqlite_site.app.tasks.count(cap=2 * total)
    completed = total - failed + THREADS + len(used)
    assert counts == {State.COMPLETED: completed, State.FAILED: failed}
    blocks, bytes_ = zip(*used[WARM_UP:], strict=True)
    assert _growth(blocks) * 100_000 / BATCH < BLOCKS, blocks
    assert _growth(bytes_) * 100_000 / BATCH < BYTES, bytes_


def _start_threads(site: Site) -> None:
    """Have all the threads begin that handlers ever get, and with them what they need."""
    site.submit("hold", range(THREADS), seconds=1.0)
    _wait_for_all(site)


def _drain(site: Site, first: int) -> None:
    numbers = range(first, first + BATCH)
    site.app.submit_many(site.app.call(FIVE[n % len(FIVE)], {"n": n}) for n in numbers)
    _wait_for_all(site)


def _in_use(site: Site, batch: int) -> list[int]:
    """Return how many blocks and bytes are in use while nothing else runs."""
    (task_id,) = site.submit("in_use", range(batch, batch + 1))
    _wait_for_all(site)
    found: list[int] = site.task(task_id).result
    return found


def _wait_for_all(site: Site) -> None:
    wait_until(lambda: site.rows(LEFT) == [(0,)], 60)


def _growth(sizes: tuple[int, ...]) -> float:
    """Return how much larger each batch leaves it, by the least of the first and the last half."""
    half = len(sizes) // 2
    return (min(sizes[half:]) - min(sizes[:half])) / half
