"""The figures are computed rightly, and every scenario runs and prints what it promises."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import idle
from bench.__main__ import SCENARIOS, main
from bench.document import document
from bench.events import begun, events, most_at_once
from bench.figures import Pair, Rate, Waits, median_ratio, percentile
from bench.marks import Marks
from bench.options import Options
from bench.report import Result, as_json, as_text
from bench.rounds import take_turns
from bench.turns import index_of
from bench.windows import windows_over
from rota.clock import new_rng

KEYS = {"scenario", "store", "tasks", "seconds", "rate", "control_rate", "ratio"}
FAIRNESS = {"big_before_last_small", "jain", "shares", "cap_max_seen", "rate_windows_over"}
HTTP = {
    "single_per_s", "single_p99_ms", "batch_tasks_per_s", "remote_drain_ratio", "sse_core_share",
    "rss_slope_mb",
}  # fmt: skip
WAITS = {"p50_ms", "p99_ms", "max_ms", "early"}


# -- figures --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "expected"), [(0.0, 1.0), (0.5, 50.0), (0.99, 99.0), (0.995, 100.0), (1.0, 100.0)]
)
def test_a_percentile_is_a_sample_that_so_many_do_not_exceed(share: float, expected: float) -> None:
    samples = [float(n) for n in range(1, 101)]
    new_rng(1).shuffle(samples)

    assert expected == percentile(samples, share)


def test_a_percentile_of_one_sample_is_that_sample() -> None:
    assert percentile([7.0], 0.5) == percentile([7.0], 0.99) == 7.0


def test_a_percentile_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no sample"):
        percentile([], 0.5)


def test_waits_are_in_milliseconds_and_count_what_came_early() -> None:
    waits = Waits.of([0.002, -0.001, 0.004, 0.003])

    assert Waits(p50_ms=2.0, p99_ms=4.0, max_ms=4.0, early=1) == waits


def test_a_rate_of_no_time_is_no_rate() -> None:
    assert Rate(100, 2.0).per_second == 50.0
    assert Rate(0, 0.0).per_second == 0.0


def test_the_ratio_is_the_median_of_the_rounds_own_ratios() -> None:
    # The machine was ten times slower in the second round, for both sides alike.
    pairs = [Pair(600.0, 1000.0), Pair(50.0, 100.0), Pair(400.0, 1000.0)]

    assert median_ratio(pairs) == 0.5


# -- rounds ---------------------------------------------------------------------------------------


def numbered(name: str, log: list[str]) -> Iterator[str]:
    """Answer the name with a number at each call, and keep the order of all calls."""
    number = 0
    while True:
        number += 1
        log.append(name)
        yield f"{name}{number}"


def test_the_sides_take_turns_and_each_goes_first_in_turn() -> None:
    log: list[str] = []
    ours, control = numbered("a", log), numbered("b", log)

    rounds = take_turns(lambda: next(ours), lambda: next(control), 3)

    assert log == ["a", "b", "b", "a", "a", "b"]
    assert rounds.ours == ("a1", "a2", "a3")
    assert rounds.control == ("b1", "b2", "b3")


def test_no_round_is_no_measurement() -> None:
    with pytest.raises(ValueError, match="must be a round"):
        take_turns(lambda: 1, lambda: 2, 0)


@pytest.mark.parametrize(
    ("options", "size"),
    [
        (Options(store="sqlite"), 50_000),
        (Options(store="sqlite", seconds=2), 20_000),
        (Options(store="sqlite", seconds=2, tasks=7), 7),
    ],
)
def test_a_round_is_sized_by_its_time_unless_its_tasks_are_given(
    options: Options, size: int
) -> None:
    assert size == options.size(10_000.0)


# -- marks ----------------------------------------------------------------------------------------


def test_waits_count_from_the_due_instant_and_leave_out_what_was_not_asked_for(
    tmp_path: Path,
) -> None:
    marks = Marks(tmp_path / "marks")
    marks.file.write_text("-1 500\n0 2000000\n1 1000\n")

    assert marks.waits({0: 1_500_000, 1: 2000}) == [0.5, -0.001]


def test_a_task_that_began_twice_is_an_error(tmp_path: Path) -> None:
    marks = Marks(tmp_path / "marks")
    marks.file.write_text("0 1\n0 2\n")

    with pytest.raises(RuntimeError, match="began twice"):
        marks.waits({0: 1})


# -- fairness -------------------------------------------------------------------------------------


def test_handlers_that_count_themselves_are_never_too_many(tmp_path: Path) -> None:
    file = tmp_path / "marks"
    file.write_text("+1 10\n+2 11\n-1 12\n+3 13\n-3 14\n-2 15\n+4 1")

    seen = events(file)

    assert most_at_once(seen) == 2
    assert begun(seen) == [1, 2, 3]


@pytest.mark.parametrize(
    ("starts", "over"),
    [
        ([0, 0], 0),
        ([0, 0, 0], 0),
        ([0, 0, 0, 0], 1),
        ([0, 0, 50_000, 100_000], 1),
        ([0, 0, 50_000, 100_001], 0),
        ([0, 0, 100_000, 200_000, 300_000], 0),
        ([300_000, 200_000, 100_000, 0, 0], 0),
        ([n * 10_000 for n in range(12)], 9),
    ],
)
def test_a_window_may_hold_the_burst_and_what_the_rate_adds(starts: list[int], over: int) -> None:
    assert windows_over(starts, 10.0, 2, [0.1] if len(starts) == 12 else [0.1, 1.0]) == over


def test_the_index_of_even_service_is_one() -> None:
    assert index_of([7, 7, 7]) == 1.0
    assert index_of([9, 0, 0]) == pytest.approx(1 / 3)
    assert index_of([0, 0]) == 0.0


# -- reports --------------------------------------------------------------------------------------

RESULT = Result(
    scenario="drain",
    store="sqlite",
    tasks=150_000,
    seconds=15.2,
    rate=10_000.4,
    control_rate=20_000.0,
    ratio=0.5,
    what="one worker",
    control="raw SQL",
    pairs=(Pair(9_000.0, 20_000.0), Pair(10_000.4, 20_000.0)),
    more={"cpu_us_a_task": 12.34},
    facts={"cores": "2", "load": "0.50 0.40 0.30"},
)


def test_json_is_one_flat_object_without_waits_that_were_not_measured() -> None:
    found = json.loads(as_json(RESULT))

    assert found.keys() >= KEYS
    assert not found.keys() & WAITS
    assert found["cpu_us_a_task"] == 12.34


def test_the_table_shows_the_ratio_with_its_spread() -> None:
    text = as_text(RESULT)

    assert "0.50 (0.45 to 0.50 in 2 rounds)" in text
    assert "cores: 2" in text


def test_the_page_is_made_of_what_was_measured() -> None:
    page = document([RESULT])

    assert "| drain | 10,000/s | 20,000/s | **0.50** | 150,000 tasks in 15 s |" in page
    assert "load before the scenarios: 0.50 to 0.50" in page


# -- scenarios ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [*SCENARIOS, "submit --single"])
def test_every_scenario_does_its_work_and_prints_what_it_promises(
    scenario: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is measured is of no interest here, so nothing has to settle before.
    monkeypatch.setattr(idle, "SETTLED", 0.0)
    size = ["--tasks", "1200", "--seconds", "1", "--rounds", "1"]
    if scenario in ("latency", "lateness", "schedules"):
        size[1] = "20"

    assert main([*scenario.split(), *size, "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    assert found.keys() >= KEYS
    assert found["store"] == "sqlite"
    assert found["rate"] > 0
    if scenario in ("latency", "lateness", "schedules"):
        assert found.keys() >= WAITS
        assert found["tasks"] == 20
        assert found["early"] == 0
    if scenario == "idle":
        assert found.keys() >= {"statements_per_s", "cpu_percent"}
    if scenario == "fairness":
        assert found.keys() >= FAIRNESS
        assert found["cap_max_seen"] == 20
        assert found["rate_windows_over"] == 0
    if scenario == "caps":
        assert (found["cap_of_one_max_seen"], found["rate_windows_over"]) == (1, 0)
    if scenario == "http":
        assert found.keys() >= HTTP
        assert found["batch_tasks_per_s"] > found["single_per_s"] > 0
        assert found["remote_drain_ratio"] > 0
    if scenario == "memory":
        assert 0 < found["worker_mb"] < 150


@pytest.mark.slow
def test_the_control_on_postgresql_does_the_same_work(capsys: pytest.CaptureFixture[str]) -> None:
    """It speaks the store's own statements, which grow: all that it stores is finished."""
    size = ["--tasks", "1200", "--rounds", "1"]

    assert main(["drain", "--store", "postgres", *size, "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    assert (found["tasks"] > 0, found["control_rate"] > 0) == (True, True)


def test_an_address_that_does_not_fit_the_store_is_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["drain", "--store", "sqlite", "--url", "postgresql://db/rota"]) == 1

    assert capsys.readouterr().err == "error: --url for --store sqlite is sqlite:///file.db\n"
