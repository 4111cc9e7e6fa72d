"""Histograms with fixed buckets: adding, merging, quantiles (R9.3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.policy.histogram import BOUNDS, BUCKETS, FEW, add, add_micros, bucket, merge, quantile

SECONDS = st.floats(min_value=-1.0, max_value=20_000.0, allow_nan=False)


@pytest.mark.parametrize(
    ("seconds", "number"),
    [(-1.0, 0), (0.0, 0), (0.001, 0), (0.0011, 1), (60.0, 15), (7200.0, 21), (7200.1, 22)],
)
def test_a_bucket_counts_up_to_its_bound(seconds: float, number: int) -> None:
    assert bucket(seconds) == number


@given(st.lists(SECONDS, max_size=5 * FEW))
def test_many_at_once_are_counted_like_one_by_one(values: list[float]) -> None:
    """However many there are, and in whatever order."""
    alone = [0] * BUCKETS
    for value in values:
        alone[bucket(value)] += 1
    together = [7] * 3 + [0] * BUCKETS

    add(together, 3, list(values))

    assert together == [7] * 3 + alone


@given(st.lists(st.integers(min_value=0, max_value=10_000_000_000), max_size=5 * FEW))
def test_microseconds_are_counted_like_seconds(values: list[int]) -> None:
    whole, parts = [0] * BUCKETS, [0] * BUCKETS
    add_micros(whole, 0, list(values))
    add(parts, 0, [value / 1_000_000 for value in values])
    assert whole == parts


def test_histograms_of_different_length_are_added_up() -> None:
    """One that was written before there were so many buckets is no hindrance."""
    assert merge((1, 2), (), (1, 0, 5)) == (2, 2, 5)
    assert merge() == ()


@pytest.mark.parametrize("part", [0.0, 0.5, 0.99, 1.0])
def test_a_quantile_lies_in_the_bucket_of_its_value(part: float) -> None:
    values = [n / 100 for n in range(1, 1001)]
    counts = [0] * BUCKETS
    add(counts, 0, list(values))

    found = quantile(counts, part)

    true = values[min(int(part * len(values)), len(values) - 1)]
    assert found is not None
    assert abs(bucket(found) - bucket(true)) <= 1


def test_of_nothing_there_is_no_quantile() -> None:
    assert quantile((), 0.99) is None
    assert quantile([0] * BUCKETS, 0.99) is None


def test_of_what_is_longer_than_all_bounds_the_last_bound_is_known() -> None:
    assert quantile([0] * (BUCKETS - 1) + [3], 0.5) == BOUNDS[-1]


def test_what_people_set_as_thresholds_is_a_bound() -> None:
    """R9.4: a p99 of 60 s is told from one above it exactly."""
    assert {1.0, 60.0, 300.0, 3600.0} <= set(BOUNDS)
