"""The report says what happened, and the exit code whether that was right."""

from typing import Any

import msgspec
import pytest

from rota.demo.audit import Audit
from rota.demo.books import Books
from rota.demo.report import make_report, percentile, problems
from rota.demo.run import conclude
from rota.model import State

GOOD = Audit(
    sent=1_060,
    lost=0,
    twice=0,
    strangers=0,
    absorbed=200,
    repeating=frozenset({"chunk-1"}),
    examples={},
    reminder_waits=(5_000, 80_400),
    password_waits=tuple(range(1_000, 101_000, 1_000)),
)
CLOSED = Books(62, {State.COMPLETED: 62}, {"chunk-1": "send_results"})
EXAMPLES = {"lost": "26-1", "twice": "26-2", "strangers": "26-3"}


def run(*, killed: int = 1, books: Books = CLOSED, json: bool = True, **changes: Any) -> int:
    found = msgspec.structs.replace(GOOD, examples=EXAMPLES, **changes)
    report = make_report(found, students=1_000, seconds=2.0, killed=killed)
    return conclude(report, found, books, json=json)


def test_the_figures_are_those_of_the_run() -> None:
    report = make_report(GOOD, students=1_000, seconds=2.004, killed=1)

    assert msgspec.to_builtins(report) == {
        "students": 1_000,
        "lost": 0,
        "twice": 0,
        "absorbed": 200,
        "college_last_ms": 80.4,
        "otp_p99_ms": 99.0,
        "seconds": 2.0,
        "messages_per_s": 529,
        "killed": 1,
    }


def test_json_is_one_object_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(json=True)

    said = capsys.readouterr()
    assert code == 0
    assert msgspec.json.decode(said.out)["messages_per_s"] == 530
    assert said.out.count("\n") == 1
    assert said.err == ""


def test_a_good_run_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(json=False)

    lines = capsys.readouterr().out.splitlines()
    assert code == 0
    assert lines[-1] == "Every student has exactly one message."
    assert any(line.split()[:2] == ["absorbed", "200"] for line in lines)


@pytest.mark.parametrize("json", [True, False])
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"lost": 3}, "messages lost: 3, for instance to 26-1"),
        ({"twice": 2}, "messages recorded twice: 2, for instance to 26-2"),
        ({"strangers": 1}, "not on the list: 1, for instance to 26-3"),
        ({"repeating": frozenset({"chunk-1", "chunk-2"})}, "their worker lived: 1"),
        ({"killed": 0}, "no worker was killed"),
        (
            {"books": Books(62, {State.COMPLETED: 61, State.RUNNING: 1})},
            "not all of the 62 tasks are completed: 61 completed, 1 running",
        ),
        ({"books": Books(62, {State.COMPLETED: 63})}, "not all of the 62 tasks"),
    ],
)
def test_what_must_not_be_ends_with_exit_code_1(
    changes: dict[str, Any], said: str, json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(json=json, **changes)

    out, err = capsys.readouterr()
    assert code == 1
    assert said in (err if json else out)
    assert "exactly one" not in out


def test_a_run_that_went_wrong_in_every_way_says_all_of_it() -> None:
    found = msgspec.structs.replace(GOOD, lost=1, twice=1, strangers=1, examples=EXAMPLES)
    report = make_report(found, students=1_000, seconds=1.0, killed=0)

    assert len(problems(report, found, Books(62, {}))) == 6


@pytest.mark.parametrize(
    ("count", "share", "expected"),
    [(0, 0.99, 0), (1, 0.99, 1), (50, 0.99, 50), (100, 0.99, 99), (1_000, 0.99, 990), (4, 0.5, 2)],
)
def test_a_percentile_is_a_value_that_was_measured(count: int, share: float, expected: int) -> None:
    assert percentile(range(1, count + 1), share) == expected
