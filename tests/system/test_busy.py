"""Handlers that leave the interpreter no rest do not cost the worker its lease."""

import pytest

from tests.system.harness import Site

pytestmark = [pytest.mark.slow, pytest.mark.alone]

LEASE = 2.0
"""Seconds; a machine that stands still for one of them costs no living worker its lease."""


def test_a_handler_that_burns_time_keeps_its_lease(site: Site) -> None:
    """Case B130, R3.1: several lease lengths of pure Python, on the event loop and in a thread."""
    site.submit("burn", range(1), seconds=2.5 * LEASE)
    site.submit("burn_in_thread", range(1, 2), seconds=2.5 * LEASE)
    for _ in range(2):
        site.start_worker(lease=LEASE, concurrency=1)
    site.started(range(2))
    site.start_worker(lease=LEASE)
    site.completed(2)

    assert site.record.times("start") == {0: 1, 1: 1}
    assert site.rows("select distinct fence, lost from finished") == [(1, 0)]
