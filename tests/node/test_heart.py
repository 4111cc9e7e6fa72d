"""The lease is trusted no longer than it was surely renewed (R3.1, R3.4)."""

import time
from typing import Any

import pytest

from rota.clock import ManualClock, new_rng
from rota.config import SECOND
from rota.errors import StoreUnavailable
from rota.model import CancelRequest
from rota.node import heart
from rota.node.heart import Heart
from tests.node.fakes import FakePulse

LEASE = 30


class Beating:
    """A heart whose beats the test makes."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.pulse = FakePulse(self.clock)
        self.lost = 0
        self.asked: list[CancelRequest] = []
        self.heart = Heart(
            self.pulse,
            "session",
            lease=LEASE * SECOND,
            clock=self.clock,
            rng=new_rng(1),
            on_lost=self._count,
            on_cancels=self.asked.extend,
        )

    def _count(self) -> None:
        self.lost += 1


def test_a_beat_renews_the_lease_and_comes_again_after_a_third_of_it() -> None:
    """R3.1."""
    it = Beating()

    wait = it.heart.beat()

    assert wait == LEASE / 3
    assert it.pulse.beats == [it.clock.now() + LEASE * SECOND]


def test_the_age_of_a_beat_counts_from_when_it_was_sent() -> None:
    """R9.3: what the metrics show."""
    it = Beating()
    it.clock.advance(4)
    assert it.heart.age == pytest.approx(4)
    it.heart.beat()
    assert it.heart.age == pytest.approx(0)


def test_trust_counts_from_when_the_renewal_was_sent() -> None:
    """Case B163: the answer took 20 s, so 7 s of trust are left and not 27."""
    it = Beating()
    it.pulse.takes = 20

    it.heart.beat()
    it.clock.advance(6.9)
    still = it.heart.trusted
    it.clock.advance(0.2)

    assert still
    assert not it.heart.trusted


def test_trust_ends_before_the_lease_does() -> None:
    """R3.4: another worker may have the tasks at 30 s."""
    it = Beating()
    it.heart.beat()

    it.clock.advance(LEASE * 0.9)

    assert not it.heart.trusted


def test_a_session_that_is_over_is_lost_at_once() -> None:
    """R3.2."""
    it = Beating()
    it.pulse.alive = False

    assert it.heart.beat() is None


def test_a_store_that_is_away_is_tried_again_until_trust_ends() -> None:
    """R3.4, R3.7."""
    it = Beating()
    it.heart.beat()
    it.pulse.fault = StoreUnavailable("away")

    waits = []
    while (wait := it.heart.beat()) is not None:
        waits.append(wait)
        it.clock.advance(wait)

    assert len(waits) > 3
    assert max(waits) <= LEASE / 6
    assert not it.heart.trusted


def test_a_store_that_comes_back_in_time_costs_nothing() -> None:
    """R3.7."""
    it = Beating()
    it.pulse.fault = StoreUnavailable("away")
    it.clock.advance(it.heart.beat() or 0)
    it.pulse.fault = None

    assert it.heart.beat() == LEASE / 3
    assert it.heart.trusted


@pytest.mark.parametrize("step", [-3600.0, 3600.0])
def test_a_step_of_the_wall_clock_costs_no_lease(step: float) -> None:
    """Case B164: waits and trust are on the monotonic clock."""
    it = Beating()
    it.heart.beat()

    it.clock.step_wall(step)

    assert it.heart.trusted
    assert it.heart.beat() == LEASE / 3


@pytest.mark.parametrize("fault", [RuntimeError("a fault of ours"), None])
def test_a_heart_that_stops_beating_says_so(fault: Any) -> None:
    """A lease must not be lost in silence."""
    it = Beating()
    it.heart._length = 0.001  # so that the thread beats at once
    it.pulse.fault = fault
    it.pulse.alive = False

    it.heart.start()
    it.heart._thread.join(60)

    assert it.lost == 1
    assert not it.heart.trusted
    assert it.pulse.closed


def test_what_is_to_be_cancelled_is_told_at_each_beat() -> None:
    """R5.2."""
    it = Beating()
    it.pulse.cancels = (CancelRequest("task-1", 3, 17),)

    it.heart.beat()
    it.heart.beat()

    assert it.asked == [CancelRequest("task-1", 3, 17)] * 2


def test_a_nudge_makes_it_beat_but_not_more_than_once_in_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R5.2: a request is heard of soon, and no storm of hints becomes one of beats."""
    monkeypatch.setattr(heart, "SOONEST", 0.05)
    it = Beating()
    began = time.monotonic()  # noqa: TID251 - the heart's thread waits for real
    it.heart.start()
    for count in range(1, 4):
        while len(it.pulse.beats) < count:
            it.heart.nudge()
            it.pulse.beat_came.wait(0.01)
    seconds = time.monotonic() - began  # noqa: TID251
    it.heart.stop()

    assert seconds >= 3 * 0.05
