"""Over which time the tenants' shares of what was done are counted (R7.3)."""

import pytest

from rota.config import HOUR, MINUTE
from rota.policy.served import since

NOW = 100 * HOUR + 30 * MINUTE
BEGIN = NOW - NOW % MINUTE


@pytest.mark.parametrize(
    ("minutes", "most", "ago"),
    [
        pytest.param([], 10, 60.0, id="nothing was done: an hour"),
        pytest.param([(1, 5), (30, 5)], 10, 60.0, id="as much as may be counted: an hour"),
        pytest.param([(1, 5), (2, 10)], 10, 1.5, id="half of the minute that is too much"),
        pytest.param([(2, 10), (1, 5)], 10, 1.5, id="in any order"),
        pytest.param([(1, 100)], 10, 0.1, id="the newest minute alone is too much"),
        pytest.param([(61, 100)], 10, 60.0, id="what was done before is left out"),
    ],
)
def test_no_more_is_counted_than_says_enough(
    minutes: list[tuple[int, int]], most: int, ago: float
) -> None:
    """R7.3: minutes are so many minutes ago, each with what was done in it."""
    counted = [(BEGIN - at * MINUTE, number) for at, number in minutes]

    assert NOW - since(NOW, counted, most) == ago * MINUTE


def test_the_minute_that_goes_on_counts_what_has_passed_of_it() -> None:
    """R7.3: ten seconds of it, of which half is enough."""
    now = NOW + MINUTE // 6

    assert now - since(now, [(BEGIN, 20)], 10) == MINUTE // 12
