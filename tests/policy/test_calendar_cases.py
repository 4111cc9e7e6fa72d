"""The slots of the public cases, whatever zone the host is in (R6.1-R6.3; P1-P6; B086)."""

import time
from collections.abc import Iterator
from itertools import islice

import pytest

from rota.clock import micros
from rota.policy.calendar import Occurrence
from rota.schedule import Gap, Rule
from tests.policy.cron_cases import CASES, Case
from tests.policy.moments import at, calendar, utc

HOSTS = ["UTC", "Australia/Sydney", "America/St_Johns", "Europe/London", "America/Los_Angeles"]


@pytest.fixture(params=HOSTS)
def host(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The zone of the machine, which must never matter (B064, B065, B086)."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def slots(case: Case, gap: Gap = Gap.RUN_AFTER) -> Iterator[Occurrence]:
    options = {"seconds": "seconds" in case.options, "both_days": "both_days" in case.options}
    found = calendar(case.expression, case.tz, gap=gap, **options)
    start = at(case.start, case.tz)
    return found.before(start) if "backwards" in case.options else found.after(start)


def running(occurrences: Iterator[Occurrence]) -> Iterator[str]:
    return (utc(slot.at) for slot in occurrences if slot.runs)


def test_the_table_holds_every_number_of_its_areas() -> None:
    areas = "01 02 04 05 07 08 10 11 13 14 16 20 22 23 25 26 28 34 35 37 38 40 41 43 44 46 47 49 "
    areas += "50 52 53 55 56 58 59 61 62 64 65 67 70 71 73 74 76 77 79 80 82 83 85"

    assert {case.number for case in CASES} == {f"B0{number}" for number in areas.split()}


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("case", CASES, ids=str)
class TestEveryCase:
    def test_has_exactly_these_slots(self, case: Case) -> None:
        assert list(islice(running(slots(case)), len(case.slots))) == case.slots

    def test_has_local_times_that_say_the_same(self, case: Case) -> None:
        for slot in islice(slots(case), len(case.slots)):
            assert micros(slot.local) == slot.at

    def test_has_no_made_up_slot_if_gaps_are_skipped(self, case: Case) -> None:
        there = [slot for slot in case.slots if slot not in case.made_up]

        assert list(islice(running(slots(case, Gap.SKIP)), len(there))) == there


@pytest.mark.parametrize("case", [case for case in CASES if case.made_up], ids=str)
class TestAMadeUpSlot:
    def test_is_told(self, case: Case) -> None:
        told = [slot for slot in islice(slots(case), len(case.slots)) if slot.notes]

        assert {utc(slot.at) for slot in told} == case.made_up
        assert all("does not exist" in slot.notes[0] for slot in told)

    def test_is_still_there_to_be_recorded_if_it_is_skipped(self, case: Case) -> None:
        """B052"""
        found = list(islice(slots(case, Gap.SKIP), len(case.slots)))

        assert {utc(slot.at) for slot in found if not slot.runs} == case.made_up
        assert all("skipped" in slot.notes[0] for slot in found if not slot.runs)


@pytest.mark.parametrize(
    ("number", "tz", "start", "end", "count"),
    [
        ("B068", "Europe/Paris", "2020-10-25T00:30Z", "2020-10-25T01:30Z", 60),
        ("B074", "Europe/Berlin", "2026-10-24T22:00Z", "2026-10-25T23:00Z", 25 * 60),
    ],
)
def test_every_minute_is_every_minute_of_real_time(
    number: str, tz: str, start: str, end: str, count: int
) -> None:
    found = [slot.at for slot in calendar("* * * * *", tz).between(at(start), at(end))]

    assert found == list(range(at(start), at(end), 60_000_000))
    assert len(found) == count


def test_a_schedule_without_a_zone_is_in_utc() -> None:
    """B086"""
    assert Rule(expression="0 9 * * *").tz == "UTC"
