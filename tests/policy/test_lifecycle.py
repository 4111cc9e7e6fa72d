"""The life of a task: legal moves, and what each ending of a hand-out leads to."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.config import DAY, LONGEST_DELAY, LOST_LEASES, MINUTE, SECOND
from rota.model import AttemptError, Claimed, State, rank_of
from rota.policy.lifecycle import (
    LEGAL,
    Cancelled,
    Completed,
    Ending,
    Expired,
    Failed,
    LeaseLost,
    Released,
    Snoozed,
    TimedOut,
    decide,
    legal,
    outcome_of,
)
from rota.policy.retry import Backoff

NOW = 1_800_000_000 * SECOND
ERROR = AttemptError(at=NOW, attempt=1, type="ValueError", message="no such phone", session="s1")
ERROR_JSON = msgspec.json.encode(ERROR).decode()
PLAIN = Backoff(base=2, jitter=0, max_attempts=5)


def claimed(*, attempt: int = 1, lost: int = 0, snoozes: int = 0, priority: int = 5) -> Claimed:
    return Claimed(
        id="0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44",
        fence=7,
        attempt=attempt,
        lost=lost,
        snoozes=snoozes,
        kind="send_result",
        queue="sms",
        tenant="board",
        priority=priority,
        run_at=NOW - MINUTE,
        created_at=NOW - 2 * MINUTE,
        payload="{}",
    )


ENDINGS: list[Ending] = [
    Completed("1"),
    Failed(ERROR),
    Failed(ERROR, permanent=True),
    Failed(ERROR, after=SECOND),
    TimedOut(ERROR),
    Snoozed(NOW + SECOND),
    Cancelled("not wanted"),
    Released(),
    LeaseLost(),
    Expired(),
]


class TestLegal:
    @pytest.mark.parametrize(
        ("from_", "allowed"),
        [
            (State.SCHEDULED, {State.READY, State.CANCELLED}),
            (State.READY, {State.RUNNING, State.SCHEDULED, State.CANCELLED}),
            (State.RUNNING, set(State) - {State.RUNNING}),
            (State.FAILED, {State.READY, State.SCHEDULED}),
            (State.COMPLETED, set()),
            (State.CANCELLED, set()),
        ],
    )
    def test_only_the_moves_of_the_table_are_legal(self, from_: State, allowed: set[State]) -> None:
        """Design §1"""
        assert {to for to in State if legal(from_, to)} == allowed

    def test_final_states_lead_nowhere_and_no_other_state_is_a_dead_end(self) -> None:
        """Invariant 3"""
        assert {state for state in State if not LEGAL[state]} == {s for s in State if s.final}

    @given(st.sampled_from(ENDINGS), st.integers(1, 9), st.integers(0, 9), st.floats(0, 0.999))
    def test_whatever_happens_to_a_running_task_is_a_legal_move_under_its_own_fence(
        self, ending: Ending, attempt: int, lost: int, chance: float
    ) -> None:
        """R3.2"""
        task = claimed(attempt=attempt, lost=lost)

        move = decide(task, ending, Backoff(), NOW, chance)

        assert legal(State.RUNNING, move.to)
        assert (move.id, move.fence) == (task.id, task.fence)
        assert move.rank == rank_of(move.run_at, task.priority)
        assert move.to is not State.SCHEDULED or move.run_at >= NOW
        assert (move.to is State.FAILED) <= (move.error is not None and move.reason is not None)
        spent = move.attempt - task.attempt, move.lost - task.lost, move.snoozes - task.snoozes
        assert spent in {(0, 0, 0), (-1, 0, 0), (-1, 1, 0), (-1, 0, 1)}


class TestSuccess:
    def test_a_returned_result_completes_the_task(self) -> None:
        """Design §5"""
        move = decide(claimed(attempt=2), Completed('{"sent":3}'), PLAIN, NOW, 0.0)

        assert (move.to, move.result, move.error) == (State.COMPLETED, '{"sent":3}', None)
        assert (move.attempt, move.lost, move.snoozes) == (2, 0, 0)

    def test_a_cancelled_run_ends_the_task_as_cancelled_and_keeps_the_reason(self) -> None:
        """R4.2"""
        move = decide(claimed(), Cancelled("the exam was moved"), PLAIN, NOW, 0.0)

        assert (move.to, move.reason) == (State.CANCELLED, "the exam was moved")


class TestFailure:
    @pytest.mark.parametrize(("attempt", "seconds"), [(1, 2), (2, 4), (3, 8), (4, 16)])
    @pytest.mark.parametrize("ending", [Failed(ERROR), TimedOut(ERROR)])
    def test_with_attempts_left_the_task_waits_for_its_backoff(
        self, ending: Ending, attempt: int, seconds: int
    ) -> None:
        """R4.1"""
        move = decide(claimed(attempt=attempt, priority=8), ending, PLAIN, NOW, 0.0)

        assert move.to is State.SCHEDULED
        assert move.run_at == NOW + seconds * SECOND
        assert move.rank == rank_of(NOW + seconds * SECOND, 8)
        assert (move.attempt, move.error, move.reason) == (attempt, ERROR_JSON, None)

    def test_chance_stretches_the_wait(self) -> None:
        """R4.1"""
        move = decide(claimed(), Failed(ERROR), Backoff(), NOW, 0.5)

        assert move.run_at == NOW + SECOND * 9 // 4

    @pytest.mark.parametrize(
        ("ending", "reason"),
        [
            (Failed(ERROR), "attempts_exhausted"),
            (Failed(ERROR, after=SECOND), "attempts_exhausted"),
            (TimedOut(ERROR), "timed_out"),
            (Failed(ERROR, permanent=True), "permanent"),
        ],
    )
    @pytest.mark.parametrize("attempt", [5, 6, 5000])
    def test_without_attempts_left_it_becomes_a_dead_letter(
        self, ending: Ending, reason: str, attempt: int
    ) -> None:
        """R4.4"""
        move = decide(claimed(attempt=attempt), ending, PLAIN, NOW, 0.0)

        assert (move.to, move.reason, move.error) == (State.FAILED, reason, ERROR_JSON)
        assert move.attempt == attempt

    def test_a_permanent_error_is_not_tried_again(self) -> None:
        """R4.2"""
        move = decide(claimed(attempt=1), Failed(ERROR, permanent=True), PLAIN, NOW, 0.0)

        assert (move.to, move.reason) == (State.FAILED, "permanent")

    @pytest.mark.parametrize(
        ("after", "waits"), [(0, 0), (DAY, DAY), (-SECOND, 0), (LONGEST_DELAY * 2, LONGEST_DELAY)]
    )
    def test_a_retry_after_is_obeyed_in_place_of_the_backoff(self, after: int, waits: int) -> None:
        """R4.2"""
        move = decide(claimed(), Failed(ERROR, after=after), Backoff(), NOW, 0.9)

        assert (move.to, move.run_at) == (State.SCHEDULED, NOW + waits)

    @pytest.mark.parametrize(("least", "waits"), [(None, 2), (1, 2), (2, 2), (60, 60)])
    def test_the_backoff_is_at_least_what_is_asked_for(self, least: int | None, waits: int) -> None:
        """R4.2: what a server says in Retry-After is a floor."""
        ending = Failed(ERROR, least=None if least is None else least * SECOND)
        move = decide(claimed(), ending, PLAIN, NOW, 0.9)

        assert (move.to, move.run_at) == (State.SCHEDULED, NOW + waits * SECOND)


class TestWaiting:
    @pytest.mark.parametrize(
        ("wish", "waits"), [(DAY, DAY), (-SECOND, 0), (2 * LONGEST_DELAY, LONGEST_DELAY)]
    )
    def test_a_snooze_waits_and_spends_no_attempt(self, wish: int, waits: int) -> None:
        """R4.2, case B134"""
        task = claimed(attempt=3, lost=1, snoozes=9)

        move = decide(task, Snoozed(NOW + wish), PLAIN, NOW, 0.0)

        assert (move.to, move.run_at) == (State.SCHEDULED, NOW + waits)
        assert (move.attempt, move.lost, move.snoozes) == (2, 1, 10)
        assert move.error is None

    def test_a_task_may_snooze_far_more_often_than_it_may_fail(self) -> None:
        """Case B134"""
        task = claimed()
        for _ in range(100):
            move = decide(task, Snoozed(NOW), PLAIN, NOW, 0.0)
            task = claimed(attempt=move.attempt + 1, snoozes=move.snoozes)

        assert decide(task, Failed(ERROR), PLAIN, NOW, 0.0).to is State.SCHEDULED
        assert (task.attempt, task.snoozes) == (1, 100)

    def test_a_released_task_goes_back_to_its_place_and_spends_nothing(self) -> None:
        """R3.6"""
        task = claimed(attempt=2, lost=1, snoozes=4, priority=8)

        move = decide(task, Released(), PLAIN, NOW, 0.0)

        assert (move.to, move.rank) == (State.READY, rank_of(task.run_at, 8))
        assert (move.attempt, move.lost, move.snoozes) == (1, 1, 4)
        assert (move.error, move.reason) == (None, None)

    def test_an_expired_task_is_cancelled_and_spends_nothing(self) -> None:
        """R1.1"""
        move = decide(claimed(attempt=1), Expired(), PLAIN, NOW, 0.0)

        assert (move.to, move.reason, move.attempt) == (State.CANCELLED, "expired", 0)


class TestLostLeases:
    def test_a_lost_lease_gives_the_attempt_back_and_counts_by_itself(self) -> None:
        """R3.8"""
        task = claimed(attempt=2, lost=0, snoozes=1)

        move = decide(task, LeaseLost(), PLAIN, NOW, 0.0)

        assert (move.to, move.run_at) == (State.READY, task.run_at)
        assert (move.attempt, move.lost, move.snoozes) == (1, 1, 1)

    def test_the_last_allowed_one_makes_a_dead_letter_that_says_why(self) -> None:
        """R3.8"""
        task = claimed(attempt=1, lost=LOST_LEASES - 1)

        move = decide(task, LeaseLost(), PLAIN, NOW, 0.0)

        assert (move.to, move.reason) == (State.FAILED, "worker_lost")
        assert (move.attempt, move.lost) == (0, LOST_LEASES)
        error = msgspec.json.decode(move.error or "", type=AttemptError)
        assert (error.type, error.at, error.attempt) == ("WorkerLost", NOW, 1)
        assert error.message == "the task lost its worker 3 times"

    @pytest.mark.parametrize(("limit", "expected"), [(1, State.FAILED), (2, State.READY)])
    def test_the_limit_can_be_set(self, limit: int, expected: State) -> None:
        """R3.8"""
        move = decide(claimed(), LeaseLost(), PLAIN, NOW, 0.0, lost_limit=limit)

        assert move.to is expected

    def test_lost_leases_and_attempts_are_two_budgets(self) -> None:
        """R3.8, case B134"""
        only_try = Backoff(max_attempts=1)

        lost = decide(claimed(attempt=1), LeaseLost(), only_try, NOW, 0.0)
        again = claimed(attempt=lost.attempt + 1, lost=lost.lost)

        assert lost.to is State.READY
        assert decide(again, Completed(), only_try, NOW, 0.0).to is State.COMPLETED
        assert decide(again, Failed(ERROR), only_try, NOW, 0.0).reason == "attempts_exhausted"


def test_each_ending_has_a_word_of_its_own() -> None:
    """R9.3: the same in logs and in traces."""
    assert [*dict.fromkeys(map(outcome_of, ENDINGS))] == [
        "completed", "failed", "timed_out", "snoozed", "cancelled", "released", "leaselost",
        "expired",
    ]  # fmt: skip
