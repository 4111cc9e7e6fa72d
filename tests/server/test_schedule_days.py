"""On days on which the clocks change what was looked ahead of is what fires (R6.3, R6.8)."""

import pytest

from rota.clock import ManualClock
from rota.config import SECOND
from rota.engine import Engine
from rota.times import moment
from tests.support.asking import Asker

DAYS = {
    "Berlin forward": ("Europe/Berlin", "30 2 * * *", "2027-03-27T12:00:00Z"),
    "Berlin back": ("Europe/Berlin", "30 2 * * *", "2027-10-30T12:00:00Z"),
    "New York forward": ("America/New_York", "30 2 * * *", "2027-03-13T12:00:00Z"),
    "New York back": ("America/New_York", "30 1 * * *", "2027-11-06T12:00:00Z"),
    "Lord Howe forward": ("Australia/Lord_Howe", "15 2 * * *", "2027-10-02T06:00:00Z"),
    "Lord Howe back": ("Australia/Lord_Howe", "45 1 * * *", "2027-04-03T06:00:00Z"),
}
"""A zone, a time of day in its change, and an instant within the day before."""


@pytest.mark.parametrize(
    "doubts", [{"gap": "run_after", "fold": "first"}, {"gap": "skip", "fold": "both"}]
)
@pytest.mark.parametrize("day", DAYS)
async def test_what_is_looked_ahead_of_is_what_fires(
    asker: Asker, engine: Engine, clock: ManualClock, day: str, doubts: dict[str, str]
) -> None:
    tz, expression, start = DAYS[day]
    clock.advance((moment(start, "start") - clock.now()) / SECOND)
    about = {"name": "nightly", "kind": "send_result", "payload": {"student_id": 1}}
    rule = {"expression": expression, "tz": tz, "overlap": "allow"} | doubts
    await asker.ask("POST", "/v1/schedules", about | rule)
    told = await asker.ask("GET", "/v1/schedules/nightly/preview?count=4")
    ahead = [moment(one["utc"], "utc") for one in told.json["items"]]
    for instant in ahead:
        clock.advance((instant - clock.now()) / SECOND)
        await engine.fire()
    slots = (await asker.ask("GET", "/v1/schedules/nightly/slots?limit=50")).json["items"]
    fired = [moment(slot["slot"], "slot") for slot in slots if slot["state"] == "fired"]
    assert fired[::-1] == ahead
