"""A host that is asked too often is left alone by all calls of a worker (http-and-cli §7)."""

import pytest

from rota.contrib._slowed import (
    ASKED_MOST,
    FIRST_SECONDS,
    FORGOTTEN_SECONDS,
    LONGEST_SECONDS,
    SEVERAL,
    SPREAD_MOST,
    STEP_SECONDS,
    TRYING_SECONDS,
    Slowed,
)
from rota.errors import Retry, Snooze
from tests.contrib.calling import Caller
from tests.support.hooks import answer, receiver

HOST = "api.example:443"


@pytest.fixture
def slowed() -> Slowed:
    return Slowed()


def refused(slowed: Slowed, now: float, least: float | None = None, times: int = SEVERAL) -> None:
    for _ in range(times):
        slowed.told(HOST, 503, least, now)


def test_one_refusal_slows_nobody_down(slowed: Slowed) -> None:
    """It may be about that very call."""
    refused(slowed, 0, times=SEVERAL - 1)
    assert slowed.wait(HOST, 0) == 0


@pytest.mark.parametrize("status", [429, 503])
def test_several_in_a_row_slow_that_host_down_and_no_other(slowed: Slowed, status: int) -> None:
    for _ in range(SEVERAL):
        slowed.told(HOST, status, None, 10.0)

    assert slowed.wait(HOST, 10.0) == pytest.approx(FIRST_SECONDS + STEP_SECONDS)
    assert slowed.wait("other.example:443", 10.0) == 0


@pytest.mark.parametrize("status", [200, 404, 500, 502])
def test_what_is_answered_otherwise_in_between_begins_anew(slowed: Slowed, status: int) -> None:
    for _ in range(SEVERAL):
        refused(slowed, 0, times=SEVERAL - 1)
        slowed.told(HOST, status, None, 0)
    assert slowed.wait(HOST, 0) == 0
    assert len(slowed) == 0


def test_what_is_far_apart_is_not_in_a_row(slowed: Slowed) -> None:
    for number in range(2 * SEVERAL):
        slowed.told(HOST, 429, None, number * (FORGOTTEN_SECONDS + 1))
    assert slowed.wait(HOST, 2 * SEVERAL * (FORGOTTEN_SECONDS + 1)) == 0


def test_a_retry_after_is_waited_for_by_all_within_bounds(slowed: Slowed) -> None:
    """R4.2"""
    refused(slowed, 0, 120.0)
    assert slowed.wait(HOST, 0) == pytest.approx(120 + STEP_SECONDS)
    refused(slowed, 0, 1e9)  # of calls that were under way
    assert slowed.wait(HOST, 0) == pytest.approx(ASKED_MOST + 2 * STEP_SECONDS)


def test_who_is_held_back_comes_back_one_after_another(slowed: Slowed) -> None:
    """R7: not all at once when the host is free again, and none too late."""
    refused(slowed, 0)
    waits = [slowed.wait(HOST, 0) for _ in range(1_000)]
    assert waits[:2] == pytest.approx(
        [FIRST_SECONDS + STEP_SECONDS, FIRST_SECONDS + 2 * STEP_SECONDS]
    )
    assert max(waits) == FIRST_SECONDS + SPREAD_MOST


def test_then_one_call_tries_it(slowed: Slowed) -> None:
    refused(slowed, 0)
    assert slowed.wait(HOST, FIRST_SECONDS) == 0
    assert slowed.wait(HOST, FIRST_SECONDS) > 0

    slowed.told(HOST, 200, None, FIRST_SECONDS)
    assert [slowed.wait(HOST, FIRST_SECONDS) for _ in range(3)] == [0, 0, 0]


def test_each_try_that_is_refused_doubles_the_wait_to_a_bound(slowed: Slowed) -> None:
    refused(slowed, 0)
    now, gaps = FIRST_SECONDS, []
    for _ in range(8):
        assert slowed.wait(HOST, now) == 0
        slowed.told(HOST, 429, None, now)
        gap = slowed.wait(HOST, now) - STEP_SECONDS
        gaps.append(round(gap, 6))
        now += gap + 0.001
    assert gaps == [4, 8, 16, 32, 60, 60, 60, LONGEST_SECONDS]


def test_a_try_without_an_answer_makes_room_for_another(slowed: Slowed) -> None:
    """R3: whoever tried was killed, or found nobody."""
    refused(slowed, 0)
    assert slowed.wait(HOST, FIRST_SECONDS) == 0
    assert slowed.wait(HOST, FIRST_SECONDS + TRYING_SECONDS - 1) > 0
    assert slowed.wait(HOST, FIRST_SECONDS + TRYING_SECONDS) == 0


def test_answers_to_what_was_sent_before_neither_open_nor_close(slowed: Slowed) -> None:
    """A hundred calls under way are refused at once: that is one reason to wait, and not seven."""
    refused(slowed, 0, times=100)
    slowed.told(HOST, 200, None, 0)
    assert slowed.wait(HOST, 0) == pytest.approx(FIRST_SECONDS + STEP_SECONDS)


def test_memory_is_bounded() -> None:
    """S8: whoever submits calls names the hosts."""
    slowed = Slowed(most=10)
    for number in range(1_000):
        slowed.told(f"h{number}.example:443", 503, None, 0)
    assert len(slowed) == 10


async def test_a_call_of_such_a_host_is_put_off_and_spends_no_attempt(call: Caller) -> None:
    """http-and-cli §7: several 429/503 of one host slow that host for all."""
    now = 100.0
    call.line.monotonic = lambda: now
    async with receiver(*[answer(503)] * SEVERAL, answer(200)) as there:
        for _ in range(SEVERAL):
            with pytest.raises(Retry):
                await call.to(there)
        with pytest.raises(Snooze) as held:
            await call.to(there)
        assert len(there.got) == SEVERAL
        now += FIRST_SECONDS
        assert (await call.to(there))["status"] == 200
        assert (await call.to(there))["status"] == 200
    assert held.value.after == FIRST_SECONDS + STEP_SECONDS
