"""How words look: colour, width, ids, times and log lines."""

import io
import logging
import re

import pytest

from rota.cli.logs import OneLine
from rota.cli.options import Look
from rota.cli.output import Output
from rota.cli.tables import fitted
from rota.cli.text import one_line, relative, short_ids, visible, wall
from rota.config import DAY, HOUR, SECOND
from tests.cli.conftest import Terminal


@pytest.mark.parametrize(
    ("terminal", "no_color", "environ", "expected"),
    [
        (True, False, {}, True),
        (True, False, {"TERM": "dumb"}, False),
        (True, False, {"NO_COLOR": "1"}, False),
        (True, False, {"NO_COLOR": ""}, True),
        (True, True, {"FORCE_COLOR": "1"}, False),
        (True, False, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (False, False, {}, False),
        (False, False, {"FORCE_COLOR": "1"}, True),
        (False, False, {"FORCE_COLOR": "0"}, False),
    ],
)
def test_colour_is_for_terminals_unless_one_says_otherwise(
    terminal: bool, no_color: bool, environ: dict[str, str], expected: bool
) -> None:
    out = Terminal() if terminal else io.StringIO()

    assert Output(Look(no_color=no_color), out=out, environ=environ).colour is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain ü 学", "plain ü 学"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\r\n\tb", "a\\r\\n\\tb"),
        ("\x9b\x7f\0", "\\x9b\\x7f\\x00"),
        ("\u202egpj", "\\u202egpj"),
    ],
)
def test_control_characters_are_shown_escaped(text: str, expected: str) -> None:
    assert visible(text) == expected


def test_an_error_takes_one_line() -> None:
    assert one_line("a\n  b\t\x1b") == "a b \\x1b"


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (HOUR, "now"),
        (HOUR + SECOND // 3, "now"),
        (HOUR + 900 * SECOND - 1000, "in 15m"),
        (HOUR + 90 * SECOND, "in 1m30s"),
        (HOUR - 12_400_000, "12s ago"),
        (HOUR + 3 * DAY, "in 3d"),
    ],
)
def test_times_are_told_from_now(at: int, expected: str) -> None:
    assert relative(at, HOUR) == expected


def test_a_time_on_another_day_has_its_date() -> None:
    assert wall(HOUR, 0) == "01:00:00Z"
    assert wall(2 * DAY, 0) == "1970-01-03 00:00:00Z"


def test_ids_are_cut_as_short_as_tells_them_apart() -> None:
    one = "0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44"
    near = "0193f2a1-7c5e-7d3b-9b1f-2f6f3c1e8a44"
    next_ = "0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a45"

    assert short_ids([one]) == ["0193f2a1-7c5e…"]
    assert short_ids([one, near]) == ["0193f2a1-7c5e-7d3a…", "0193f2a1-7c5e-7d3b…"]
    assert short_ids([one, next_]) == [one, next_]
    assert short_ids([]) == []


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (40, ["0193f2a1-7c5e…", "a-long-kind-of-task", "x  "]),
        (30, ["0193f2a1-7c5e…", "a-long-k…", "x  "]),
        (5, ["0193f2a1-7c5e…", "a-lon…", "x  "]),  # as far as it goes
    ],
)
def test_the_widest_column_gives_way_and_the_id_never(width: int, expected: list[str]) -> None:
    rows = [["0193f2a1-7c5e…", "a-long-kind-of-task", "x"]]

    _, cells = fitted(["ID", "KIND", "PRI"], rows, width)

    assert cells == expected


def test_full_ids_give_way_last_and_states_never() -> None:
    rows = [["0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44", "completed", "send_result"]]

    _, cells = fitted(["ID", "STATE", "KIND"], rows, 40)

    assert cells == ["0193f2a1-7c5e-7d3a-9…", "completed", "send_…"]


def test_wide_letters_count_twice() -> None:
    _, cells = fitted(["ID", "KIND"], [["1", "学生学生学生"]], 11)

    assert cells == ["1 ", "学生学…"]


def test_progress_is_for_terminals_and_is_taken_away_again() -> None:
    screen, file = Terminal(), io.StringIO()
    for err in (screen, file):
        output = Output(Look(), out=io.StringIO(), err=err)
        output.progress(10, "{} stored".format)
        output.progress(2000, "{} stored".format)
        output.end_progress()

    assert screen.getvalue() == "\r2000 stored\x1b[K\r\x1b[K"
    assert file.getvalue() == ""


@pytest.mark.parametrize("tracebacks", [False, True])
def test_a_log_record_is_one_line_unless_tracebacks_are_wanted(tracebacks: bool) -> None:
    try:
        raise ValueError("no\nway")
    except ValueError as error:
        record = logging.LogRecord(
            "rota.worker", logging.WARNING, "", 0, "lost %s\x1b", ("a\nb",),
            (ValueError, error, error.__traceback__),
        )  # fmt: skip

    text = OneLine(tracebacks=tracebacks).format(record)

    head = r"[\d-]{10}T[\d:.]{12}Z WARNING rota\.worker: lost a b\\x1b"
    if tracebacks:
        assert re.match(head + "\nTraceback", text)
    else:
        assert re.fullmatch(head + ": ValueError: no way", text)
