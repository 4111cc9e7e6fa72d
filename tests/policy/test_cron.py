"""Cron expressions on local times: what is read, refused, and matches (R6.1; P1-P4, P6)."""

from datetime import datetime, timedelta
from itertools import islice
from timeit import repeat

import pytest

from rota.errors import InvalidSchedule
from rota.policy.cron import Expression, parse

START = datetime(2026, 1, 1)
MANY = 600


def times(text: str, count: int = MANY, **options: bool) -> list[datetime]:
    return list(islice(parse(text, **options).after(START), count))


class TestTwoSpellings:
    @pytest.mark.parametrize(
        ("number", "text", "same"),
        [
            ("P1", "0 0 * * 0", "0 0 * * 7"),
            ("P1", "0 0 * * SUN", "0 0 * * 7"),
            ("P1", "0 9 * JAN,jUl mon-Fri", "0 9 * 1,7 1-5"),
            ("P1", "00 09 01 001 *", "0 9 1 1 *"),
            ("P1", " \t0\t9  * *\t* ", "0 9 * * *"),
            ("P1", "0 0 * * 0-7", "0 0 * * *"),
            ("P1", "0 0 * * 5-7", "0 0 * * 5,6,0"),
            ("P1", "0 0 * * 7-2", "0 0 * * 0-2"),
            ("P1", "0 0 * * 7-7", "0 0 * * 0"),
            ("P1", "0 0 * * 1-7/2", "0 0 * * 1,3,5,0"),
            ("P2 B001", "0 8 * * FRI-MON", "0 8 * * 5,6,0,1"),
            ("P2 B002", "0 22-2 * * *", "0 22,23,0,1,2 * * *"),
            ("P2 B002", "0 22-2/2 * * *", "0 22,0,2 * * *"),
            ("P2 B004", "0 0 * * 7-1/2", "0 0 * * 0"),
            ("P2 B004", "0 0 * * 7-3/2", "0 0 * * 0,2"),
            ("P2", "50-10/15 * * * *", "50,5 * * * *"),
            ("P2", "0 0 28-3 * *", "0 0 28,29,30,31,1,2,3 * *"),
            ("P2", "0 0 1 NOV-FEB *", "0 0 1 11,12,1,2 *"),
            ("P2", "0 0 1 NOV-FEB/3 *", "0 0 1 11,2 *"),
            ("P2", "0 0 * * SAT-SUN", "0 0 * * 6,0"),
            ("P3 B010", "5/15 * * * *", "5,20,35,50 * * * *"),
            ("P3 B010", "0 2/6 * * *", "0 2,8,14,20 * * *"),
            ("P3", "0 0 1/10 * *", "0 0 1,11,21,31 * *"),
            ("P3", "0 0 1 OCT/1 *", "0 0 1 10,11,12 *"),
            ("P3", "0 0 * * 1/2", "0 0 * * 1-7/2"),
            ("P3", "0 0 * * MON/3", "0 0 * * 1,4,7"),
            ("B013", "0 0 * * */5", "0 0 * * 0,5"),
            ("B019", "*/60 */24 * * */7", "0 0 * * 0"),
            ("P4", "0 0 */2 * 1", "0 0 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 * 1 AND"),
            ("P4", "0 0 13 * */2", "0 0 13 * 0,2,4,6 AND"),
            ("P4", "0 0 *,13 * 5", "0 0 * * 5"),
            ("R6.1", "0 0 ? * 5", "0 0 * * 5"),
            ("R6.1", "0 0 13 * ?", "0 0 13 * *"),
            ("R6.1", "0 0 l * *", "0 0 L * *"),
            ("R6.1", "0 0 * * FRIL", "0 0 * * 5L"),
            ("R6.1", "0 0 * * 7#2,Sun#4", "0 0 * * 0#2,0#4"),
            ("R6.1", "0 0 1w * *", "0 0 1W * *"),
            ("R6.1", "@hourly", "0 * * * *"),
            ("R6.1", "@Daily", "0 0 * * *"),
            ("R6.1", " @midnight ", "0 0 * * *"),
            ("R6.1", "@weekly", "0 0 * * SUN"),
            ("R6.1", "@monthly", "0 0 1 * *"),
            ("R6.1", "@yearly", "0 0 1 1 *"),
            ("R6.1", "@annually", "0 0 1 1 *"),
        ],
    )
    def test_mean_the_same(self, number: str, text: str, same: str) -> None:
        both_days = same.endswith(" AND")

        assert times(text) == times(same.removesuffix(" AND"), both_days=both_days)

    def test_are_not_taken_for_one_if_only_one_asks_for_both_days(self) -> None:
        """B026"""
        assert times("0 0 1-7 * 1") != times("0 0 1-7 * 1", both_days=True)

    def test_with_a_field_for_seconds_begin_with_it(self) -> None:
        """B014"""
        assert times("0 30 9 * * *", seconds=True) == times("30 9 * * *")
        assert times("@daily", seconds=True) == times("@daily")


class TestADay:
    @pytest.mark.parametrize(
        ("text", "months"),
        [
            ("0 0 1W * *", {5: 1, 8: 3, 11: 2}),
            ("0 0 15W * *", {2: 16, 3: 16, 8: 14}),
            ("0 0 31W * *", {1: 30, 5: 29, 10: 30}),
            ("0 0 LW * *", {1: 30, 2: 27, 5: 29}),
            ("0 0 L * *", {1: 31, 2: 28, 4: 30}),
            ("0 0 * * 1#1", {1: 5, 2: 2, 6: 1}),
            ("0 0 * * 7L", {1: 25, 2: 22, 5: 31}),
        ],
    )
    def test_that_moves_is_found_in_each_month(self, text: str, months: dict[int, int]) -> None:
        """R6.1, B020, B022, B023: in 2026"""
        found = {time.month: time.day for time in times(text, 12) if time.year == 2026}

        assert {month: found[month] for month in months} == months

    def test_near_another_does_not_leave_a_short_month(self) -> None:
        """B022: the 29th of February 2032 is a Sunday, the 30th never comes."""
        february = parse("0 0 29W 2 *").after(datetime(2030, 1, 1))

        assert next(february) == datetime(2032, 2, 27)

    def test_of_a_list_may_be_of_any_kind(self) -> None:
        found = times("0 0 1,15W,L * *", 6)

        assert [(time.month, time.day) for time in found] == [
            *((1, 15), (1, 31), (2, 1)),
            *((2, 16), (2, 28), (3, 1)),
        ]

    def test_has_to_match_one_field_if_both_are_restricted_and_may_be_nearest(self) -> None:
        """P4"""
        found = times("0 0 15W * FRI", 6)

        assert [time.day for time in found] == [2, 9, 15, 16, 23, 30]


class TestWhatIsInterval:
    @pytest.mark.parametrize(
        ("text", "seconds", "interval"),
        [
            ("* * * * *", False, True),
            ("*/5 3 * * *", False, True),
            ("30 * * * *", False, True),
            ("0 */2 * * *", False, True),
            ("*,30 2 * * *", False, True),
            ("@hourly", False, True),
            ("0-59 0-23 * * *", False, False),
            ("0/5 3 * * *", False, False),
            ("0 2 * * *", False, False),
            ("0 2 */2 * *", False, False),
            ("@daily", False, False),
            ("* 0 2 * * *", True, True),
            ("0 0 2 * * *", True, False),
        ],
    )
    def test_is_decided_by_the_star_that_a_field_begins_with(
        self, text: str, seconds: bool, interval: bool
    ) -> None:
        """P5, B074"""
        assert parse(text, seconds=seconds).interval is interval


class TestTheOtherWay:
    @pytest.mark.parametrize(
        "text", ["*/7 9-17 * * MON-FRI", "0 0 29 2 *", "59 23 L * *", "0 0 1 1 *", "0,1 0 31 * 5#5"]
    )
    def test_meets_the_same_times(self, text: str) -> None:
        """B034"""
        expression = parse(text)
        onward = list(islice(expression.after(START), 50))

        assert (
            list(islice(expression.before(onward[-1] + timedelta(seconds=1)), 50)) == onward[::-1]
        )

    def test_has_a_time_that_began_within_the_same_second(self) -> None:
        moment = datetime(2026, 1, 1, 9, 0, 0, 1)

        assert next(parse("0 9 * * *").before(moment)) == datetime(2026, 1, 1, 9)
        assert next(parse("0 9 * * *").after(moment)) == datetime(2026, 1, 2, 9)


def test_a_time_matches_or_does_not() -> None:
    """B076: half past two is no full hour."""
    hourly = parse("0 * * * *")

    assert hourly.match(datetime(2019, 10, 6, 2))
    assert not hourly.match(datetime(2019, 10, 6, 2, 30))
    assert not hourly.match(datetime(2019, 10, 6, 2, 0, 1))
    assert not hourly.match(datetime(2019, 10, 6, 2, 0, 0, 1))


REFUSED = """
B014 | * * * * * *, 0 0 12 1 * *
B017 | */00 0 * * *, 1/00 * * * *, */0 * * * *, */000 * * * *, 1-5/0 * * * *, 0 0 * * MON/0
B019 | */-2 * * * *, */+2 * * * *, */ 2 * * * *, */1e9 * * * *, -5 * * * *, 5- * * * *, */ * * * *
B019 | */61 * * * *, * */25 * * *, 0 0 * * */8, 1/99999999999999999999 * * * *, 1--2 * * * *
B019 | 1-2-3 * * * *, */2/2 * * * *, 1/2/3 * * * *, /2 * * * *, - * * * *
B023 | 0 12 * * 2#6, 0 12 * * 2#0, 0 12 * * 8#1, 0 12 * * L, 0 12 * * 2#, 0 12 * * #2, 0 12 * * 8L
B023 | 0 12 * * 1-3#2, 0 12 * * 2#02, 0 12 * * 2#1#1, 0 12 * * XYZL
B029 | * * 31 2 *, * * 30 2 *, * * 31 2-2 ?, * * 31 2 ?, 0 0 30W 2 *, 0 0 30 2 */2
B031 | 0 0 31 2 *
B032 | 0 0 31 2 *
P1 | *, * * * *, * * * * * * *, 60 * * * *, * 24 * * *, 0 0 0 * *, 0 0 32 * *, 0 0 * 0 *, 0 0 * 13 *
P1 | 0 0 * * 8, 0 0 * * MONDAY, 0 0 * JANUARY *, MON * * * *, a * * * *, 1.5 * * * *, *5 * * * *
R6.1 | ? * * * *, 0 0 ?/2 * *, 0 0 ?-2 * *, 0 0 L/2 * *, 0 0 L-3 * *, 0 0 0W * *, 0 0 32W * *
R6.1 | 0 0 1-5W * *, 0 0 WL * *, 0 0 W * *, 0 L * * *, @reboot, @, @daily @daily, @every 5m
"""
ODD_REFUSED = {
    "B019": ["1,,2 * * * *", ",1 * * * *", "1, * * * *", ", * * * *"],
    "B029": ["0 0 31 2,4,6,9,11 *"],
    "B179": [
        *("*\n*\n*\n*\n*", "* * * * *\n", "\n* * * * *", "* * *\u2028* *", "* * * *\r*"),
        *("*\t*\xa0*\t* *", "\xa0* * * * *", "*\x0b* * * *", "*\x0c* * * *", "5\0 * * * *"),
        *("\u0663 * * * *", "\uff15 * * * *", "* " * 5_000, "*" + " " * 252 + "* * * *"),
    ],
    "P1": ["", " ", "\t"],
}


def refused() -> list[tuple[str, str]]:
    lines = [line.split(" | ") for line in REFUSED.strip().splitlines()]
    plain = [(number, text) for number, texts in lines for text in texts.split(", ")]
    return plain + [(number, text) for number, texts in ODD_REFUSED.items() for text in texts]


class TestARefusal:
    @pytest.mark.parametrize(("number", "text"), refused(), ids=lambda text: repr(text)[:40])
    def test_comes_when_it_is_read_and_in_less_than_10_ms(self, number: str, text: str) -> None:
        """P6: for every spelling, by a look at the calendar instead of a search through it."""

        def read() -> None:
            with pytest.raises(InvalidSchedule) as refusal:
                parse(text)
            assert refusal.value.field == "expression"
            assert len(str(refusal.value).splitlines()) == 1

        assert min(repeat(read, repeat=5, number=1)) < 0.010

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("61 * * * *", ["minute '61'", "0 to 59"]),
            ("0 */00 * * *", ["hour '*/00'", "1 to 24"]),
            ("0 0 1,,2 * *", ["day-of-month '1,,2'", "empty"]),
            ("0 0 5- * *", ["day-of-month '5-'", "a start and an end"]),
            ("0 0 * JANU *", ["month 'JANU'", "1 to 12 or JAN to DEC"]),
            ("0 0 * * fri-", ["day-of-week 'fri-'"]),
            ("0 0 * * L", ["day-of-week 'L'", "SATL"]),
            ("0 0 * * 2#6", ["day-of-week '2#6'", "1 to 5"]),
            ("*/90 * * * *", ["minute '*/90'", "every="]),
            ("*/1e9 * * * *", ["minute '*/1e9'"]),
            ("* * * * * *", ["6 fields", "5", "seconds=True"]),
            ("* * * *", ["4 fields", "minute hour day-of-month month day-of-week"]),
            ("@fortnightly", ["'@fortnightly'", "@weekly"]),
            ("0 0 30 2 *", ["never fires", "day-of-month '30'", "month '2'"]),
            ("*\xa0* * * *", ["U+00A0", "spaces or tabs"]),
            ("* " * 200, ["400 characters", "256"]),
        ],
    )
    def test_names_what_is_wrong_and_what_would_be_right(self, text: str, told: list[str]) -> None:
        """B001, B011, B014"""
        with pytest.raises(InvalidSchedule) as refusal:
            parse(text)

        assert all(part in str(refusal.value) for part in told), str(refusal.value)

    def test_says_how_many_fields_there_are_if_seconds_were_asked_for(self) -> None:
        """B014"""
        with pytest.raises(InvalidSchedule, match=r"5 fields instead of 6: second .*seconds=True"):
            parse("* * * * *", seconds=True)

    @pytest.mark.parametrize("value", [None, 5, b"* * * * *"])
    def test_comes_for_what_is_no_text(self, value: object) -> None:
        with pytest.raises(InvalidSchedule, match="must be text"):
            parse(value)

    def test_does_not_come_for_256_characters(self) -> None:
        """B179"""
        assert times("*" + " " * 248 + "* * * *", 3) == times("* * * * *", 3)

    def test_does_not_come_for_what_is_rare(self) -> None:
        """B035: leap days that are the fifth of their weekday are up to forty years apart."""
        found = times("0 0 29 2 MON#5", 4, both_days=True)

        assert [time.year for time in found] == [2044, 2072, 2112, 2140]
        assert min(repeat(lambda: times("0 0 29 2 MON", 4, both_days=True), number=1)) < 0.010


class TestWords:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("0 9 * * MON-FRI", "At 09:00 on Monday to Friday"),
            ("*/5 9-17 * * *", "Every fifth minute from 09:00 through 17:59"),
            ("@hourly", "At the start of every hour"),
            ("@daily", "At 00:00 every day"),
            ("0 22-2/2 * * *", "At 00:00, 02:00, and 22:00 every day"),
            ("0 8 * * FRI-MON", "At 08:00 on Friday to Monday"),
            ("0 0 13 * 5", "At 00:00 on the 13th, and on Friday"),
            ("0 0 */2 * 1", "At 00:00 on every 2nd day from the 1st to the 31st, if it is Monday"),
            ("0 0 13 * */3", "At 00:00 on the 13th, if it is Sunday, Wednesday and Saturday"),
            ("0 9 15W * *", "At 09:00 on the workday (Monday to Friday) nearest the 15th"),
            ("0 9 LW * *", "At 09:00 on the last workday (Monday to Friday) of the month"),
            ("0 9 1,L * *", "At 09:00 on the 1st and the last day of the month"),
            ("0 9 22 NOV-FEB *", "At 09:00 on the 22nd in November to February"),
            ("0 9 ? */3 *", "At 09:00 every day in every 3rd month from January to October"),
            ("0 9 * * 2#3", "At 09:00 on the 3rd Tuesday of the month"),
            ("0 9 * * 1,5L", "At 09:00 on Monday and the last Friday of the month"),
        ],
    )  # fmt: skip
    def test_say_when_it_matches(self, text: str, words: str) -> None:
        assert parse(text).words == words

    def test_say_that_a_field_was_taken_for_seconds(self) -> None:
        """B014"""
        assert parse("*/10 * * * * *", seconds=True).words == "Every 10th second of every minute"
        assert parse("30 0 9 * * *", seconds=True).words == "At 09:00:30 every day"

    def test_say_that_both_days_have_to_match(self) -> None:
        """B026"""
        words = parse("0 9 1-7 * MON", both_days=True).words

        assert words == "At 09:00 on the 1st to the 7th, if it is Monday"


def test_what_was_read_once_is_read_no_more() -> None:
    """Ten thousand schedules that share an expression share what was found out about it."""
    assert parse("1 2 3 4 *") is parse("1 2 3 4 *")
    assert isinstance(parse("1 2 3 4 *"), Expression)
