"""Clocks that jump: waits go on, and stored times are compared with stored times alone."""

import time
from types import SimpleNamespace

import pytest

from rota.clock import SystemClock
from rota.config import HOUR, MINUTE, SECOND
from rota.model import Micros

NEAR = SECOND // 2


@pytest.fixture
def standing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the machine's own clock stand still: what a test takes is no part of it."""
    nanoseconds = time.monotonic_ns()
    stands = SimpleNamespace(
        monotonic=lambda: nanoseconds / 1e9,
        monotonic_ns=lambda: nanoseconds,
        time_ns=lambda: 1_800_000_000 * 10**9,
    )
    monkeypatch.setattr("rota.clock.time", stands)


def clock_at(store_time: Micros) -> SystemClock:
    """A node's clock that has taken one reading of the store's clock."""
    clock = SystemClock()
    clock.observe(store_time, clock.monotonic())
    return clock


@pytest.mark.usefixtures("standing")
@pytest.mark.parametrize("step", [-HOUR, HOUR, -30 * SECOND, 30 * SECOND])
def test_a_step_that_is_taken_back_moves_no_node(step: Micros) -> None:
    """Case B164: the store's clock was wrong for two readings; nothing was early, nothing late."""
    true = 1_900_000_000 * SECOND
    clock = clock_at(true)
    for reading in (true + step, true + step, true, true + step, true + step):
        clock.observe(reading, clock.monotonic())

        assert abs(clock.now() - true) < NEAR


@pytest.mark.usefixtures("standing")
@pytest.mark.parametrize("step", [-HOUR, HOUR])
def test_a_step_that_stays_is_followed_by_every_node(step: Micros) -> None:
    """Case B164: all nodes share the store's time, whatever their own clocks say."""
    true = 1_900_000_000 * SECOND
    nodes = [clock_at(true), clock_at(true)]
    for clock in nodes:
        for _ in range(3):
            clock.observe(true + step, clock.monotonic())

    assert all(abs(clock.now() - true - step) < NEAR for clock in nodes)


def test_waits_are_measured_on_a_clock_that_readings_do_not_move() -> None:
    """Case B166: a stored time is never compared with a monotonic reading."""
    clock = clock_at(1_900_000_000 * SECOND)
    before = clock.monotonic()
    for _ in range(5):
        clock.observe(100 * HOUR, clock.monotonic())

    assert abs(clock.now() - 100 * HOUR) < MINUTE
    assert 0 <= clock.monotonic() - before < 60
    assert abs(clock.monotonic() - time.monotonic()) < 60


@pytest.mark.usefixtures("standing")
def test_slow_answers_never_set_a_node_ahead_of_the_store() -> None:
    """R2.3: a reading is as old as its way here was long; no task starts early for that."""
    true = 1_900_000_000 * SECOND
    clock = clock_at(true)
    for delay in (0.2, 0.05, 0.4, 0.1):
        clock.observe(true - round(delay * SECOND), clock.monotonic())

        assert clock.now() <= true
    assert clock.now() > true - NEAR
