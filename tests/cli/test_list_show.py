"""`rota list` and `rota show`: what is there, for people, for pipes and as JSON."""

import re
from pathlib import Path

import msgspec
import pytest

from rota import Rota
from rota.cli.problems import Exit
from rota.model import State
from tests.cli.conftest import Cli
from tests.cli.steps import run_task

HEADINGS = ["ID", "STATE", "KIND", "QUEUE", "TENANT", "PRI", "DUE", "ATT"]


@pytest.fixture
def url(school: Path) -> str:
    """The address of the school's store."""
    return f"sqlite:///{school}/school.db"


def test_a_pipe_gets_tabs_utc_full_ids_and_no_heading(rota: Cli) -> None:
    task_id = rota.submit("send_result", "student_id:=1", "--tenant", "board")

    (line,) = rota("list").lines

    assert re.fullmatch(rf"{task_id}\tready\tsend_result\tsms\tboard\t2\t[\dT:.-]+Z\t0", line)


def test_a_terminal_gets_a_table_that_fits_it(rota: Cli) -> None:
    rota.submit("send_result", "student_id:=1", "--tenant", "a-tenant-with-a-rather-long-name")
    rota.submit("report", "day=x", "--delay", "15m")

    answer = rota.on_terminal("list", "--no-color", width=72)

    assert answer.lines[0].split() == HEADINGS
    assert all(len(line) <= 72 for line in answer.lines)
    assert re.search(r"^\S{13,}…  scheduled  report +default .* in 1[45]m", answer.lines[1])
    assert "\x1b" not in answer.out


def test_colour_only_repeats_a_word(rota: Cli) -> None:
    rota.submit("report", "day=x")

    answer = rota.on_terminal("list")

    assert "\x1b[36mready" in answer.out
    assert rota("list").out.count("\x1b") == 0


def test_json_is_one_array_of_summaries(rota: Cli) -> None:
    rota.submit("report", "day=x")
    task_id = rota.submit("send_result", "student_id:=1", "--tag", "t")

    first = rota("list", "--json").json[0]

    assert first["id"] == task_id
    assert (first["class"], first["state"], first["timeout"]) == ("high", "ready", 30)
    assert first["tags"] == ["t"]
    assert not {"payload", "headers", "result", "errors"} & first.keys()


def test_jsonl_is_one_object_a_line(rota: Cli) -> None:
    ids = [rota.submit("report", "day=x") for _ in range(3)]

    lines = rota("list", "--jsonl").lines

    assert [msgspec.json.decode(line)["id"] for line in lines] == ids[::-1]


def test_nothing_is_an_empty_array_and_a_word_to_a_person(rota: Cli) -> None:
    rota("migrate")

    assert rota("list", "--json").json == []
    assert (rota("list").out, rota("list", "--jsonl").out) == ("", "")
    answer = rota.on_terminal("list")
    assert (answer.code, answer.out, answer.err) == (0, "", "No tasks match.\n")


def test_more_than_the_limit_is_said_and_all_reads_every_page(rota: Cli) -> None:
    lines = '{"payload":{"day":"x"}}\n' * 700
    rota("submit", "report", "--batch", "-", stdin=lines)

    short = rota("list")
    assert len(short.lines) == 50
    assert short.err == "The newest 50; for more: --limit N, or --all\n"
    assert rota("list", "--quiet").err == ""
    assert len(rota("list", "--limit", "650").lines) == 650
    every = rota("list", "--all")
    assert len(set(every.lines)) == 700
    assert every.err == ""
    assert len(rota("list", "--all", "--json").json) == 700
    # One heading over all its pages, and one for the cursor at the end of the last.
    assert len(rota.on_terminal("list", "--all").lines) == 701


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--state", "ready"], 2),
        (["--state", "ready", "--state", "scheduled"], 3),
        (["--queue", "sms"], 1),
        (["--kind", "report"], 2),
        (["--tenant", "board"], 1),
        (["--tenant", ""], 2),
        (["--tag", "exam"], 1),
        (["--key", "k"], 1),
        (["--kind", "report", "--state", "ready"], 1),
        (["--queue", "nope"], 0),
    ],
)
def test_every_filter_must_match(rota: Cli, words: list[str], expected: int) -> None:
    rota.submit("send_result", "student_id:=1", "--tenant", "board", "--tag", "exam")
    rota.submit("report", "day=x", "--key", "k")
    rota.submit("report", "day=x", "--delay", "1h")

    assert len(rota("list", *words).lines) == expected


def test_columns_are_chosen_and_errors_are_one_of_them(rota: Cli, url: str) -> None:
    task_id = rota.submit("report", "day=x")
    run_task(url, task_id, state=State.FAILED)

    assert rota("list", "--columns", "state,error,id").out == (
        f"failed\tConnectionError: boom\t{task_id}\n"
    )


def test_task_data_cannot_steer_the_terminal(rota: Cli) -> None:
    task_id = rota.submit("report", "day=\x1b[31mred", "--tag", "\x1b]0;title\x07", "--key", "a\tb")

    for words in (["list", "--columns", "tags,key"], ["show", task_id]):
        for answer in (rota(*words), rota.on_terminal(*words, "--no-color")):
            assert "\x1b" not in answer.out
            assert "\x07" not in answer.out
            assert "\\x1b]0;title\\x07" in answer.out


def test_show_tells_the_whole_story(rota: Cli, url: str) -> None:
    """R9.1, R4.4: the timeline, each attempt's error with its traceback, payload."""
    task_id = rota.submit("report", "day=x", "--header", "trace=1", "--tag", "t")
    run_task(url, task_id, "no route", "refused", state=State.FAILED)

    answer = rota("show", task_id)

    assert answer.code == 0
    assert answer.lines[0] == f"{task_id}  failed"
    for text in ("header    trace=1", '"day": "x"', "Attempt 1: ConnectionError: no route"):
        assert text in answer.out
    story = answer.out.partition("Timeline\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split("Z  ")[1] for line in story] == [
        "submitted",
        "attempt failed: attempt 1: ConnectionError",
        "attempt failed: attempt 2: ConnectionError",
        "started: attempt 3",
        "attempt failed: attempt 3: ConnectionError",
        "failed: 5 of 5 attempts",
    ]
    assert "  in send_result" in answer.out
    assert " ago" not in answer.out
    assert re.search(r"Z, (now|\d+s ago)  submitted", rota.on_terminal("show", task_id).out)


def test_show_as_json_is_the_task_as_the_api_shows_it(rota: Cli, url: str) -> None:
    task_id = rota.submit("send_result", "student_id:=1", "--max-attempts", "2")
    run_task(url, task_id, "no route", state=State.COMPLETED)

    shown = rota("show", task_id, "--json").json

    assert shown["payload"] == {"student_id": 1}
    assert (shown["state"], shown["result"], shown["attempt"]) == ("completed", "sent 1", 2)
    assert (shown["lost_leases"], shown["snoozes"], shown["timeout"]) == (0, 0, 30)
    assert shown["retry"]["max_attempts"] == 2
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", shown["finished_at"])
    (error,) = shown["errors"]
    assert (error["attempt"], error["type"], error["message"]) == (1, "ConnectionError", "no route")


@pytest.mark.parametrize("length", [8, 13, 14, 20, 35, 36])
def test_a_beginning_that_only_one_task_has_will_do(rota: Cli, length: int) -> None:
    task_id = rota.submit("report", "day=x")

    assert rota("show", task_id[:length]).lines[0].startswith(task_id)
    assert rota("show", f"{task_id[:13].upper().replace('-', '')}…").code == 0


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("0123456", Exit.USAGE, "too short for an id; give 8 digits or more"),
        ("ffffffff", Exit.NOT_FOUND, "no task has the id 'ffffffff'"),
        ("f" * 32, Exit.NOT_FOUND, "no task has the id"),
        ("hello", Exit.NOT_FOUND, "no task has the id 'hello'"),
        ("%", Exit.NOT_FOUND, "no task has the id '%'"),
        ("", Exit.NOT_FOUND, "no task has the id ''"),
    ],
)
def test_an_id_that_names_nothing_is_refused(rota: Cli, text: str, code: Exit, said: str) -> None:
    rota("migrate")

    answer = rota("show", text)

    assert answer.code == code
    assert said in answer.err


def test_a_beginning_that_two_tasks_have_is_exit_code_2(rota: Cli) -> None:
    rota("submit", "report", "--batch", "-", stdin='{"payload":{"day":"x"}}\n' * 2)
    (first, second) = rota("list", "--columns", "id").lines
    assert first[:8] == second[:8]

    answer = rota("show", first[:8])

    assert answer.code == Exit.USAGE
    assert "several tasks begin with" in answer.err


def test_a_table_cuts_ids_no_shorter_than_tells_them_apart(rota: Cli, store: Rota) -> None:
    rota("submit", "report", "--batch", "-", stdin='{"payload":{"day":"x"}}\n' * 5)

    table = rota.on_terminal("list", "--no-color", width=120).lines[1:]

    shown = [line.split()[0] for line in table]
    assert len(set(shown)) == 5
    full = [task.id for task in store.tasks.list()]
    assert all(id_.startswith(cut.rstrip("…")) for id_, cut in zip(full, shown, strict=True))
