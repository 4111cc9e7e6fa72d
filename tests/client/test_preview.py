"""Looking ahead at a rule needs no store, and says what is surprising (R6.3, R6.7, R6.8)."""

from typing import Any

import pytest

from rota import InvalidSchedule, InvalidTask, Rota
from rota.views import occurrence

BERLIN = {"tz": "Europe/Berlin", "after": "2026-03-28T00:00Z"}


@pytest.fixture
def app() -> Rota:
    """An app whose store cannot be reached."""
    return Rota("postgresql://rota@127.0.0.1:1/rota", patience="1ms")


def preview(app: Rota, what: str | None = None, **options: Any) -> list[tuple[str, str]]:
    """The slots in UTC, each with its notes."""
    shown = [occurrence(slot) for slot in app.schedules.preview(what, **options)]
    return [(slot["utc"], " ".join(slot["notes"])) for slot in shown]


def test_the_next_slots_of_an_expression(app: Rota) -> None:
    assert preview(app, "0 9 * * MON-FRI", after="2026-11-27T09:00Z", count=2) == [
        ("2026-11-30T09:00:00Z", ""),
        ("2026-12-01T09:00:00Z", ""),
    ]


def test_the_next_slots_of_an_interval(app: Rota) -> None:
    assert preview(app, every="90s", after="2026-11-30T00:00Z", count=2) == [
        ("2026-11-30T00:01:30Z", ""),
        ("2026-11-30T00:03:00Z", ""),
    ]


def test_a_slot_that_is_skipped_is_told_in_the_one_that_follows(app: Rota) -> None:
    """R6.3."""
    first, second = preview(app, "30 2 * * *", gap="skip", count=2, **BERLIN)

    assert first == ("2026-03-28T01:30:00Z", "")
    assert second[0] == "2026-03-30T00:30:00Z"
    assert "2026-03-29 02:30 does not exist" in second[1]


def test_a_slot_that_is_moved_says_so(app: Rota) -> None:
    """R6.3."""
    _, moved = preview(app, "30 2 * * *", count=2, **BERLIN)

    assert moved[0] == "2026-03-29T01:00:00Z"
    assert "does not exist" in moved[1]


def test_jitter_is_told(app: Rota) -> None:
    """R6.7: how much it is depends on the schedule's id, which an expression has not."""
    ((_, note),) = preview(app, "@hourly", jitter="5m", count=1)

    assert note == "jitter: starts up to 5m later, always the same for a schedule"


def test_the_window_and_the_number_of_runs_are_kept(app: Rota) -> None:
    options = {"after": "2026-01-01T00:00Z", "starts_at": "2026-02-01T00:00Z"}

    assert preview(app, "@daily", max_runs=1, **options) == [("2026-02-01T00:00:00Z", "")]
    assert len(preview(app, "@daily", ends_at="2026-02-03T00:00Z", **options)) == 2


@pytest.mark.parametrize(
    ("what", "options", "field"),
    [
        ("0 0 30 2 *", {}, "expression"),
        ("@hourly", {"tz": "Nowhere"}, "tz"),
        ("@hourly", {"jitters": 1}, "jitters"),
        ("@hourly", {"queue": "sms"}, "queue"),
        ("@hourly", {"count": 0}, "count"),
        ("@hourly", {"after": "today"}, "after"),
        (None, {}, "expression"),
        ("*/5", {}, "expression"),
        ("", {}, "expression"),
    ],
)
def test_what_cannot_be_foreseen_is_refused(
    app: Rota, what: str | None, options: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidTask) as caught:
        app.schedules.preview(what, **options)

    assert caught.value.field == field
    assert isinstance(caught.value, InvalidSchedule) or field in ("count", "after")
