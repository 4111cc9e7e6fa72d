"""Backoff: what waits it gives and what it refuses (R4.1, case B133)."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.config import HOUR, LONGEST_DELAY, SECOND
from rota.errors import ConfigurationError
from rota.policy.retry import Backoff, delay

ALMOST_ONE = math.nextafter(1.0, 0.0)


def backoffs() -> st.SearchStrategy[Backoff]:
    seconds = st.floats(0, LONGEST_DELAY / SECOND)
    return st.builds(
        Backoff,
        type=st.sampled_from(["exponential", "linear", "fixed"]),
        base=seconds,
        multiplier=st.floats(1, allow_infinity=False),
        cap=seconds,
        jitter=st.floats(0, 1),
        max_attempts=st.integers(1, 10**9),
    )


class TestDelay:
    def test_the_default_doubles_from_two_seconds_up_to_five_minutes(self) -> None:
        """R4.1"""
        waits = [delay(Backoff(), attempt, 0.0) / SECOND for attempt in range(1, 11)]

        assert waits == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]

    @pytest.mark.parametrize(
        ("policy", "seconds"),
        [
            (Backoff(type="linear", base=10, cap=35), [10, 20, 30, 35, 35]),
            (Backoff(type="fixed", base=10), [10, 10, 10, 10, 10]),
            (Backoff(type="fixed", base=10, cap=3), [3, 3, 3, 3, 3]),
            (Backoff(base=1, multiplier=1), [1, 1, 1, 1, 1]),
            (Backoff(base=0.5, multiplier=3, cap=20), [0.5, 1.5, 4.5, 13.5, 20]),
            (Backoff(base=400, cap=300), [300, 300, 300, 300, 300]),
            (Backoff(base=0), [0, 0, 0, 0, 0]),
            (Backoff(cap=0), [0, 0, 0, 0, 0]),
        ],
    )
    def test_each_type_grows_in_its_own_way(self, policy: Backoff, seconds: list[float]) -> None:
        """R4.1"""
        assert [delay(policy, n, 0.0) / SECOND for n in range(1, 6)] == seconds

    @pytest.mark.parametrize("attempt", [13, 64, 1024, 2000, 5000, 10**9, 10**400])
    def test_a_late_attempt_waits_for_the_cap_instead_of_overflowing(self, attempt: int) -> None:
        """Case B133"""
        policy = Backoff(base=1, multiplier=2, cap=3600)

        assert delay(policy, attempt, 0.0) == HOUR
        assert delay(policy, attempt, 0.5) == HOUR * 9 // 8

    @pytest.mark.parametrize(("chance", "seconds"), [(0.0, 2.0), (0.5, 2.25), (0.8, 2.4)])
    def test_jitter_adds_up_to_a_quarter(self, chance: float, seconds: float) -> None:
        """R4.1"""
        assert delay(Backoff(), 1, chance) == seconds * SECOND

    @given(backoffs(), st.integers(1, 6000), st.floats(0, ALMOST_ONE))
    def test_it_is_never_negative_and_never_above_the_cap_with_jitter(
        self, policy: Backoff, attempt: int, chance: float
    ) -> None:
        """Case B133"""
        most = round(policy.cap * SECOND) * (1 + policy.jitter)

        assert 0 <= delay(policy, attempt, chance) <= most

    @given(backoffs(), st.integers(1, 6000), st.floats(0, ALMOST_ONE))
    def test_it_never_shrinks_from_one_attempt_to_the_next(
        self, policy: Backoff, attempt: int, chance: float
    ) -> None:
        """R4.1"""
        assert delay(policy, attempt, chance) <= delay(policy, attempt + 1, chance)


class TestBackoff:
    def test_its_defaults_are_the_stated_ones(self) -> None:
        """R4.1"""
        expected = Backoff(
            type="exponential", base=2, multiplier=2, cap=300, jitter=0.25, max_attempts=5
        )

        assert Backoff() == expected

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("type", "quadratic"),
            ("type", None),
            ("type", ["exponential"]),
            ("base", -0.1),
            ("base", math.nan),
            ("base", math.inf),
            ("base", "2"),
            ("base", True),
            ("base", LONGEST_DELAY / SECOND + 1),
            ("multiplier", 0.99),
            ("multiplier", math.nan),
            ("multiplier", math.inf),
            ("cap", -1),
            ("cap", math.nan),
            ("cap", math.inf),
            ("cap", 10**400),
            ("jitter", -0.01),
            ("jitter", 1.01),
            ("jitter", math.nan),
            ("max_attempts", 0),
            ("max_attempts", -1),
            ("max_attempts", 2.0),
            ("max_attempts", True),
            ("max_attempts", "5"),
        ],
    )
    def test_a_bad_value_is_refused_by_the_name_of_its_field(self, field: str, value: Any) -> None:
        """R1.6"""
        with pytest.raises(ConfigurationError, match=rf"^Backoff {field} must be .+, not "):
            Backoff(**{field: value})

    @given(backoffs())
    def test_it_is_the_same_after_a_way_through_json(self, policy: Backoff) -> None:
        """R1.1"""
        assert Backoff.from_json(policy.to_json()) == policy

    def test_its_json_has_every_field_so_that_new_defaults_change_no_stored_task(self) -> None:
        """R8.6"""
        assert Backoff().to_json() == (
            '{"type":"exponential","base":2.0,"multiplier":2.0,"cap":300.0,'
            '"jitter":0.25,"max_attempts":5}'
        )

    def test_a_field_of_a_newer_version_is_ignored(self) -> None:
        """R8.6"""
        assert Backoff.from_json('{"base":7,"warmth":3}') == Backoff(base=7)

    @pytest.mark.parametrize(
        ("text", "named"),
        [
            ('{"base":"soon"}', "base"),
            ('{"max_attempts":0}', "max_attempts"),
            ('{"jitter":4}', "jitter"),
            ('{"type":"never"}', "type"),
            ("[]", "retry policy"),
            ("{", "retry policy"),
        ],
    )
    def test_bad_json_is_refused_and_names_what_is_wrong(self, text: str, named: str) -> None:
        """R1.6"""
        with pytest.raises(ConfigurationError, match=named):
            Backoff.from_json(text)
