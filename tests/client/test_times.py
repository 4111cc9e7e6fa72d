"""Durations and instants as people write them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from rota.config import DAY, HOUR, LONGEST_DELAY, MINUTE, SECOND
from rota.errors import InvalidTask
from rota.times import duration, moment, show_duration, show_instant


@pytest.mark.parametrize(
    ("length", "given"),
    [
        (0, 0),
        (SECOND, 1),
        (SECOND // 2, 0.5),
        (90 * SECOND, "90s"),
        (15 * MINUTE, "15m"),
        (90 * MINUTE, "1h30m"),
        (250_000, "250ms"),
        (1_500_000, "1.5s"),
        (7 * DAY, "1w"),
        (15 * MINUTE, "PT15M"),
        (DAY + HOUR, "P1DT1H"),
        (2 * MINUTE, timedelta(minutes=2)),
        (LONGEST_DELAY, timedelta(days=3650)),
    ],
)
def test_a_duration_is_read_in_every_form(length: int, given: object) -> None:
    assert length == duration(given, "delay")


@pytest.mark.parametrize(
    "given",
    [-1, "-5m", "soon", "", "5", "5 m", "1h 30m", "P1Y", "P1M", "P", "PT", True, None, [],
     float("nan"), float("inf"), 1e300, timedelta(days=3651), timedelta(seconds=-1), "10m5x"],
)  # fmt: skip
def test_what_is_no_duration_is_refused_by_the_name_of_its_field(given: object) -> None:
    """R1.6."""
    with pytest.raises(InvalidTask, match=r"^delay: ") as caught:
        duration(given, "delay")

    assert caught.value.field == "delay"


@pytest.mark.parametrize(
    "given",
    [
        "2026-11-30T10:00:00Z",
        "2026-11-30t10:00:00z",
        "2026-11-30 10:00Z",
        "2026-11-30T15:30:00+05:30",
        "2026-11-30T10:00:00.000000Z",
        datetime(2026, 11, 30, 10, tzinfo=UTC),
        datetime(2026, 11, 30, 11, tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_an_instant_is_the_same_in_every_form(given: object) -> None:
    assert show_instant(moment(given, "run_at")) == "2026-11-30T10:00:00.000000Z"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (datetime(2026, 11, 30, 10), "no time zone"),
        ("2026-11-30T10:00:00", "no time zone"),
        ("tomorrow", "no instant"),
        ("2026-13-01T00:00:00Z", "no instant"),
        ("2026-02-30T00:00:00Z", "no instant"),
        ("2026-11-30", "no instant"),
        ("2026-11-30T10:00:00.1234567Z", "finer than a microsecond"),
        ("1969-12-31T23:59:59Z", "before 1970"),
        (1_700_000_000, "no instant"),
        (None, "no instant"),
    ],
)
def test_an_unclear_instant_is_refused(given: object, why: str) -> None:
    """R1.6: a time without a zone means another instant on another machine."""
    with pytest.raises(InvalidTask, match=why) as caught:
        moment(given, "run_at")

    assert caught.value.field == "run_at"


@pytest.mark.parametrize(
    ("shown", "length"),
    [("0ms", 0), ("250ms", 250_000), ("1.5s", 1_500_000), ("2s", 2 * SECOND), ("12s", 12 * SECOND),
     ("15m", 15 * MINUTE), ("1h30m", 90 * MINUTE), ("2d3h", 2 * DAY + 3 * HOUR + MINUTE)],
)  # fmt: skip
def test_a_duration_is_shown_in_its_two_largest_units(shown: str, length: int) -> None:
    assert shown == show_duration(length)
