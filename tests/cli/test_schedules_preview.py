"""`rota schedules preview` says when and why, without a store and without an app (R6.8)."""

import re
import subprocess
import sys

import pytest

from rota.cli.problems import Exit
from tests.cli.conftest import Cli

NEW_YORK = ["--tz", "America/New_York"]


def test_the_next_runs_are_a_list_of_utc_local_and_notes(cli: Cli) -> None:
    answer = cli(
        "schedules", "preview", "0 9 * * MON-FRI", "--tz", "Europe/Berlin",
        "--after", "2026-10-23T12:00:00Z", "--count", "2", "--json",
    )  # fmt: skip

    assert (answer.code, answer.err) == (0, "")
    assert answer.json == [
        {"utc": "2026-10-26T08:00:00Z", "local": "2026-10-26T09:00:00+01:00", "notes": []},
        {"utc": "2026-10-27T08:00:00Z", "local": "2026-10-27T09:00:00+01:00", "notes": []},
    ]


# (expression and options, after, UTC of the first run, what its note says)
SURPRISES = [
    (["30 2 * * *"], "2024-03-10T00:00:00Z", "2024-03-10T07:00:00Z", "does not exist"),
    (["30 2 * * *", "--gap", "skip"], "2024-03-10T00:00:00Z", "2024-03-11T06:30:00Z", "skipped"),
    (["30 1 * * *"], "2024-11-03T00:00:00Z", "2024-11-03T05:30:00Z", "first pass"),
    (
        ["30 1 * * *", "--fold", "second"],
        "2024-11-03T00:00:00Z",
        "2024-11-03T06:30:00Z",
        "second pass",
    ),
    (["0 9 * * *", "--jitter", "5m"], "2024-06-01T00:00:00Z", "2024-06-01T13:00:00Z", "jitter"),
]


@pytest.mark.parametrize(("rule", "after", "utc", "said"), SURPRISES)
def test_each_surprise_has_its_reason(
    cli: Cli, rule: list[str], after: str, utc: str, said: str
) -> None:
    """B073: New York on the days when the clocks change (R6.3, R6.7)."""
    words = ["schedules", "preview", *rule, *NEW_YORK, "--after", after]

    first, *_ = cli(*words, "--json").json
    assert first["utc"] == utc
    assert said in "; ".join(first["notes"])
    assert said in cli(*words).lines[0].split("\t")[2]
    assert any(said in line for line in cli.on_terminal(*words, "--no-color").lines[2:])


def test_both_passes_of_a_repeated_hour_are_two_runs(cli: Cli) -> None:
    found = cli(
        "schedules", "preview", "30 1 * * *", *NEW_YORK, "--fold", "both",
        "--after", "2024-11-03T00:00:00Z", "--count", "2", "--json",
    ).json  # fmt: skip

    assert [run["utc"] for run in found] == ["2024-11-03T05:30:00Z", "2024-11-03T06:30:00Z"]
    assert [run["local"][-6:] for run in found] == ["-04:00", "-05:00"]


FORMS = [
    (["*/10 * * * * *", "--seconds"], ["2024-01-01T00:00:10Z", "2024-01-01T00:00:20Z"]),
    (["--every", "90s"], ["2024-01-01T00:01:30Z", "2024-01-01T00:03:00Z"]),
    (["--every", "90s", "--anchor", "2024-01-01T00:00:10Z"], ["2024-01-01T00:00:10Z"]),
    (["0 0 1-31 * 4", "--both-days"], ["2024-01-04T00:00:00Z", "2024-01-11T00:00:00Z"]),
    (["@monthly", "--starts-at", "2024-05-01T00:00:00Z"], ["2024-05-01T00:00:00Z"]),
]


@pytest.mark.parametrize(("words", "expected"), FORMS)
def test_every_form_of_a_rule_can_be_tried(cli: Cli, words: list[str], expected: list[str]) -> None:
    """R6.1: seconds, intervals, AND of the day fields (B026), names."""
    found = cli("schedules", "preview", *words, "--after", "2024-01-01T00:00:00Z", "--json").json

    assert [run["utc"] for run in found[: len(expected)]] == expected


def test_a_rule_that_ends_has_fewer_runs(cli: Cli) -> None:
    answer = cli(
        "schedules", "preview", "@daily", "--after", "2024-01-01T00:00:00Z",
        "--ends-at", "2024-01-03T00:00:00Z",
    )  # fmt: skip

    assert [line.split("\t")[1] for line in answer.lines] == ["2024-01-02T00:00:00Z"]
    assert "There are no more." in answer.err


def test_without_an_instant_it_looks_from_now_on_ten_times(cli: Cli) -> None:
    answer = cli("schedules", "preview", "* * * * *")

    times = [line.split("\t")[1] for line in answer.lines]
    assert (len(times), times) == (10, sorted(times))
    assert answer.err == "Every minute, UTC\n"


REFUSED = [
    (["0 0 31 2 *"], "never fires"),
    (["*/0 * * * *"], "step"),
    (["* * * * * *"], "6 fields instead of 5"),
    (["0 9 * *"], "4 fields instead of 5"),
    (["0 9 * * FUNDAY"], "FUNDAY"),
    (["* " * 200], "characters"),
    (["0 9 * *\n*"], "must be one line"),
    ([], "expression: is missing"),
    (["@daily", "--every", "5m"], "exclude each other"),
    (["--every", "soon"], "every: 'soon' is no duration"),
    (["@daily", "--tz", "Mars"], "tz: 'Mars' is no IANA time zone"),
    (["@daily", "--tz", "localtime"], "tz: 'localtime' is no IANA time zone"),
    (["@daily", "--gap", "jump"], "gap: must be one of run_after, skip"),
    (["@daily", "--fold", "third"], "fold: must be one of first, second, both"),
    (["@daily", "--after", "2024-01-01T00:00:00"], "has no time zone"),
    (["@daily", "--count", "0"], "must be a whole number from 1 to 10000"),
    (["* * * * *", "--jitter", "5m"], "jitter: must be shorter"),
]


@pytest.mark.parametrize(("words", "said"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_is_refused_is_exit_code_2_and_one_line(cli: Cli, words: list[str], said: str) -> None:
    """R6.1, rule P6."""
    answer = cli("schedules", "preview", *words)

    assert (answer.code, answer.out) == (Exit.USAGE, "")
    assert said in answer.err
    assert re.fullmatch(r"rota: .+\n", answer.err)


@pytest.mark.slow
def test_neither_a_store_nor_an_app_is_loaded() -> None:
    code = (
        "import sys; from rota.cli import main; "
        "code = main(['schedules', 'preview', '@daily', '--json']); "
        "loaded = {'rota.cli.opening', 'rota.cli.app_loading', 'apsw', 'asyncpg'}; "
        "sys.exit(code or sorted(loaded & set(sys.modules)) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
