"""Which class is turned away from which depth on, and for how long."""

import pytest

from rota.config import SECOND
from rota.model import PriorityClass
from rota.policy.overload import full_from, retry_after


@pytest.mark.parametrize(
    ("most", "expected"), [(100, [None, 200, 150, 100]), (1, [None, 2, 2, 1]), (3, [None, 6, 5, 3])]
)
def test_the_lowest_class_is_turned_away_first_and_critical_never(
    most: int, expected: list[int | None]
) -> None:
    """R1.7"""
    assert [full_from(most, cls) for cls in PriorityClass] == expected


@pytest.mark.parametrize(
    ("too_many", "ended", "seconds", "expected"),
    [
        (500, 6_000, 60.0, 5),
        (1, 6_000, 60.0, 1),  # never less than a second
        (10**6, 6_000, 60.0, 60),  # never more than a minute
        (500, 0, 60.0, 60),  # nothing moves
        (90, 60, 120.0, 60),
        (10, 60, 120.0, 20),
    ],
)
def test_come_back_when_as_many_have_been_worked_off(
    too_many: int, ended: int, seconds: float, expected: int
) -> None:
    """R1.7"""
    assert retry_after(too_many, ended, seconds) == expected * SECOND
