"""What a server says in its log while the store is away."""

import pytest

from rota.clock import ManualClock
from rota.errors import StoreUnavailable
from rota.server.problems import Outages
from tests.support.factories import NOW


def test_an_outage_is_told_once_a_second(caplog: pytest.LogCaptureFixture) -> None:
    """However many calls it refuses: with their number, so that nothing is hidden."""
    clock = ManualClock(NOW)
    outages = Outages(clock)
    for _ in range(500):
        outages.note(StoreUnavailable("no answer"), "r-1")
    clock.advance(1)
    outages.note(StoreUnavailable("no answer"), "r-2")
    assert [record.calls for record in caplog.records] == [1, 500]  # type: ignore[attr-defined]
