"""Schedules, slots and occurrences as the JSON that every outward face shows (R9.1)."""

import json
from typing import Any

import pytest

from rota import Backoff, Rota, Schedule
from rota.config import HOUR, MINUTE
from rota.declaring import declared_of
from rota.reconcile import new_schedule
from rota.schedule import Slot, SlotState
from rota.views import schedule, slot
from tests.support.factories import NOW, Make

WORK: dict[str, Any] = {
    "retry": Backoff(max_attempts=2),
    "headers": {"trace": "1"},
    "tags": ["a"],
    "expires_in": "1h",
    "timeout": 1.5,
}


def _report(day: str) -> None: ...


def made(expression: str | None = None, **options: Any) -> Schedule:
    """A schedule that begins now."""
    kind = Rota("sqlite:///unused.db").task(name="report")(_report)
    given = {"payload": {"day": "x"}} | options
    return new_schedule(declared_of(kind, expression, given), "code:app", Make().id(), NOW)


def test_instants_are_text_durations_seconds_and_json_is_json() -> None:
    shown = schedule(made(every="90s", jitter="10s", overlap="queue(5)", **WORK))

    assert json.loads(json.dumps(shown)) == shown
    assert (shown["every"], shown["jitter"], shown["timeout"]) == (90, 10, 1.5)
    assert (shown["expression"], shown["anchor"]) == (None, "1970-01-01T00:00:00.000000Z")
    assert shown["next_slot"] == "2027-01-15T08:01:30.000000Z"
    assert (shown["overlap"], shown["max_pending"]) == ("queue", 5)
    assert (shown["payload"], shown["headers"]) == ({"day": "x"}, {"trace": "1"})
    assert shown["retry"]["max_attempts"] == 2
    assert (shown["paused"], shown["source"], shown["problem"]) == (False, "code:app", None)


def test_everything_that_a_schedule_is_declared_with_is_shown() -> None:
    """What was given can be read back: an option that nobody sees is a trap."""
    from rota.declared import ScheduleOptions

    shown = schedule(made("0 9 * * *"))

    assert set(ScheduleOptions.__annotations__) | {"expression"} <= shown.keys()
    assert [shown[name] for name in ("max_pending", "anchor", "concurrency_key")] == [None] * 3


@pytest.mark.parametrize(
    ("decided", "told"),
    [
        (
            Slot(NOW, SlotState.FIRED, NOW + 1, "0193", True),
            {"state": "fired", "task": "0193", "backfilled": True, "last": None, "count": 1},
        ),
        (
            Slot(NOW, SlotState.MISSED, NOW + HOUR, last=NOW + MINUTE, count=None),
            {"state": "skipped:missed", "last": "2027-01-15T08:01:00.000000Z", "count": None},
        ),
    ],
)
def test_a_slot_says_what_became_of_it(decided: Slot, told: dict[str, Any]) -> None:
    shown = slot(decided)

    assert shown["slot"] == "2027-01-15T08:00:00.000000Z"
    assert told.items() <= shown.items()
