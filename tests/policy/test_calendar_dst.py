"""What daylight saving does to a slot is chosen for each schedule, and told (R6.3, P5)."""

from itertools import islice

import pytest

from rota.clock import instant
from rota.policy.calendar import Occurrence
from rota.schedule import Fold, Gap
from tests.policy.moments import at, calendar, utc

SPRING = "2026-03-28T23:00Z"
"""In Berlin the clocks go forward from 02:00 to 03:00 at 2026-03-29T01:00Z."""
AUTUMN = "2026-10-24T22:00Z"
"""There they go back from 03:00 to 02:00 at 2026-10-25T01:00Z."""


def berlin(text: str, start: str, count: int = 4, **options: object) -> list[Occurrence]:
    return list(islice(calendar(text, "Europe/Berlin", **options).after(at(start)), count))


def clocks(found: list[Occurrence]) -> list[str]:
    """The slots of one day, those that do not run in brackets."""
    return [utc(slot.at)[11:-1] if slot.runs else f"({utc(slot.at)[11:-1]})" for slot in found]


class TestAFixedTimeThatExistsTwice:
    @pytest.mark.parametrize(
        ("fold", "slots"),
        [
            (Fold.FIRST, ["00:00", "00:30", "02:00", "02:30"]),
            (Fold.SECOND, ["01:00", "01:30", "02:00", "02:30"]),
            (Fold.BOTH, ["00:00", "00:30", "01:00", "01:30", "02:00", "02:30"]),
        ],
    )
    def test_runs_in_the_passes_that_were_asked_for(self, fold: Fold, slots: list[str]) -> None:
        assert clocks(berlin("0,30 2,3 * * *", AUTUMN, len(slots), fold=fold)) == slots

    @pytest.mark.parametrize("fold", Fold)
    @pytest.mark.parametrize(
        "start", ["00:00", "00:29", "00:30", "00:59", "01:00", "01:30", "01:59"]
    )
    def test_is_found_from_anywhere_between(self, fold: Fold, start: str) -> None:
        found = calendar("0,30 2,3 * * *", "Europe/Berlin", fold=fold)
        day = list(found.between(at("2026-10-25T00:00Z"), at("2026-10-25T03:00Z")))
        moment = at(f"2026-10-25T{start}Z")
        after = [slot for slot in day if slot.at > moment]
        before = [slot for slot in day if slot.at < moment]

        assert list(islice(found.after(moment), len(after))) == after
        assert list(islice(found.before(moment), len(before))) == before[::-1]

    @pytest.mark.parametrize(
        ("fold", "told"),
        [
            (Fold.FIRST, ["this is the first pass, the only one in which it runs"]),
            (Fold.SECOND, ["this is the second pass, the only one in which it runs"]),
            (Fold.BOTH, ["this is the first pass", "this is the second pass"]),
        ],
    )
    def test_says_so(self, fold: Fold, told: list[str]) -> None:
        """R6.8"""
        why = "2026-10-25 02:30 exists twice: the clocks go back from 03:00 to 02:00; "
        found = berlin("30 2 * * *", AUTUMN, len(told) + 1, fold=fold)

        assert [slot.notes for slot in found] == [*((why + part,) for part in told), ()]

    def test_has_the_local_time_of_its_pass(self) -> None:
        found = berlin("30 2 * * *", AUTUMN, 2, fold=Fold.BOTH)

        assert [slot.local.isoformat() for slot in found] == [
            "2026-10-25T02:30:00+02:00",
            "2026-10-25T02:30:00+01:00",
        ]


class TestAFixedTimeThatDoesNotExist:
    @pytest.mark.parametrize(
        ("text", "run_after", "skip"),
        [
            ("30 2 * * *", ["01:00", "00:30"], ["(01:00)", "00:30"]),
            ("0,30 2 * * *", ["01:00", "00:00"], ["(01:00)", "00:00"]),
            ("0-59 2 * * *", ["01:00", "00:00"], ["(01:00)", "00:00"]),
            ("30 1-4 * * *", ["00:30", "01:00", "01:30"], ["00:30", "(01:00)", "01:30"]),
            ("0 1-4 * * *", ["00:00", "01:00", "02:00"], ["00:00", "01:00", "02:00"]),
        ],
        ids=["one", "several", "a whole hour", "between others", "one is there anyway"],
    )
    def test_is_one_slot_at_the_first_instant_after_the_gap(
        self, text: str, run_after: list[str], skip: list[str]
    ) -> None:
        """P5, B052: several that are lost are one; so are they with a slot that is there anyway."""
        assert clocks(berlin(text, SPRING, len(run_after))) == run_after
        assert clocks(berlin(text, SPRING, len(skip), gap=Gap.SKIP)) == skip

    @pytest.mark.parametrize(
        ("gap", "fate"),
        [
            (Gap.RUN_AFTER, "it runs at the first instant after that"),
            (Gap.SKIP, "it is skipped"),
        ],
    )
    @pytest.mark.parametrize("text", ["30 2 * * *", "30 2,4 * * *", "30,40 2 * * *"])
    def test_says_so(self, text: str, gap: Gap, fate: str) -> None:
        """R6.8"""
        (slot,) = berlin(text, SPRING, 1, gap=gap)

        why = "2026-03-29 02:30 does not exist: the clocks go forward from 02:00 to 03:00; "
        assert slot.notes == (why + fate,)
        assert slot.local.isoformat() == "2026-03-29T03:00:00+02:00"

    @pytest.mark.parametrize("gap", Gap)
    def test_is_the_same_slot_from_behind(self, gap: Gap) -> None:
        found = calendar("0,30 1-4 * * *", "Europe/Berlin", gap=gap)
        day = list(found.between(at("2026-03-29T00:00Z"), at("2026-03-29T03:00Z")))

        assert list(islice(found.before(at("2026-03-29T03:00Z")), len(day))) == day[::-1]
        assert utc(next(found.before(at("2026-03-29T01:00Z"))).at) == "2026-03-29T00:30Z"

    @pytest.mark.parametrize("gap", Gap)
    def test_is_recorded_but_not_made_up_if_more_than_three_hours_were_left_out(
        self, gap: Gap
    ) -> None:
        """P5, B083: Samoa left out the 30th of December 2011."""
        found = calendar("0 9 * * *", "Pacific/Apia", gap=gap).after(at("2011-12-29T10:00Z"))
        slots = list(islice(found, 3))

        assert [utc(slot.at) for slot in slots if slot.runs] == [
            "2011-12-29T19:00Z",
            "2011-12-30T19:00Z",
        ]
        assert [utc(slot.at) for slot in slots if not slot.runs] == ["2011-12-30T10:00Z"]
        assert "2011-12-30 09:00 does not exist" in slots[1].notes[0]

    def test_is_made_up_if_just_three_hours_were_left_out(self) -> None:
        """P5: Casey went from UTC+8 to UTC+11 at 02:00 on 2009-10-18."""
        slot = next(calendar("0 3 * * *", "Antarctica/Casey").after(at("2009-10-17T10:00Z")))

        assert slot.runs
        assert utc(slot.at) == "2009-10-17T18:00Z"


class TestAnIntervalSchedule:
    @pytest.mark.parametrize("fold", Fold)
    @pytest.mark.parametrize("gap", Gap)
    def test_follows_real_time_whatever_was_chosen(self, gap: Gap, fold: Fold) -> None:
        """P5, B061, B068"""
        found = calendar("*/30 * * * *", "Europe/Berlin", gap=gap, fold=fold)
        for start in (at(SPRING), at(AUTUMN)):
            slots = list(islice(found.after(start), 12))

            assert [slot.at - start for slot in slots] == [n * 1_800_000_000 for n in range(1, 13)]
            assert all(slot.runs for slot in slots)

    def test_does_not_make_up_what_its_clock_never_showed(self) -> None:
        """P5: half past two; the next even hour is four."""
        assert clocks(berlin("30 */2 * * *", SPRING, 2)) == ["23:30", "02:30"]

    def test_says_which_pass_it_is(self) -> None:
        found = berlin("30 * * * *", AUTUMN, 5)

        assert [slot.notes[0][-28:] if slot.notes else "" for slot in found] == [
            *("", ""),
            *("02:00; this is the first pass"[-28:], "02:00; this is the second pass"[-28:]),
            "",
        ]

    def test_of_a_day_that_was_left_out_has_nothing_to_make_up(self) -> None:
        """B083"""
        found = calendar("*/15 9 * * *", "Pacific/Apia").after(at("2011-12-29T20:00Z"))

        assert utc(next(found).at) == "2011-12-30T19:00Z"


def test_an_offset_that_is_called_negative_daylight_saving_is_an_offset() -> None:
    """B082: Dublin's winter is its daylight saving, one hour less."""
    found = calendar("30 1 * * *", "Europe/Dublin")

    assert utc(next(found.after(at("2026-03-28T12:00Z"))).at) == "2026-03-29T01:00Z"
    assert utc(next(found.after(at("2026-10-24T12:00Z"))).at) == "2026-10-25T00:30Z"
    assert instant(next(found.after(at("2026-10-25T00:30Z"))).at).day == 26
