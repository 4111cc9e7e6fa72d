"""`rota cancel` and `rota retry`: an answer for each task, and an exit code for all."""

from pathlib import Path

import pytest

from rota import Rota
from rota.cli.problems import Exit
from rota.model import State
from tests.cli.conftest import Cli
from tests.cli.steps import run_task

NOBODY = "01234567-89ab-7def-8123-456789abcdef"


@pytest.fixture
def url(school: Path) -> str:
    """The address of the school's store."""
    return f"sqlite:///{school}/school.db"


def bring(rota: Cli, url: str, state: State) -> str:
    """A task in this state."""
    delay = ["--delay", "1h"] if state is State.SCHEDULED else []
    task_id = rota.submit("report", "day=x", *delay)
    if state is State.CANCELLED:
        assert rota("cancel", task_id).code == 0
    elif state not in (State.SCHEDULED, State.READY):
        run_task(url, task_id, state=state)
    return task_id


# verb, state, exit code, what is said, state afterwards
ANSWERS = [
    ("cancel", State.SCHEDULED, Exit.DONE, "cancelled", State.CANCELLED),
    ("cancel", State.READY, Exit.DONE, "cancelled", State.CANCELLED),
    ("cancel", State.RUNNING, Exit.DONE, "is running: asked to stop", State.RUNNING),
    ("cancel", State.COMPLETED, Exit.CONFLICT, "is over already: too late", State.COMPLETED),
    ("cancel", State.CANCELLED, Exit.CONFLICT, "is over already: too late", State.CANCELLED),
    ("cancel", State.FAILED, Exit.CONFLICT, "is over already: too late", State.FAILED),
    ("retry", State.SCHEDULED, Exit.DONE, "runs again", State.READY),
    ("retry", State.FAILED, Exit.DONE, "runs again", State.READY),
    (
        "retry",
        State.READY,
        Exit.CONFLICT,
        "is neither failed nor scheduled: left alone",
        State.READY,
    ),
    (
        "retry",
        State.RUNNING,
        Exit.CONFLICT,
        "is neither failed nor scheduled: left alone",
        State.RUNNING,
    ),
    ("retry", State.COMPLETED, Exit.CONFLICT, "is neither failed", State.COMPLETED),
    ("retry", State.CANCELLED, Exit.CONFLICT, "is neither failed", State.CANCELLED),
]


@pytest.mark.parametrize("row", ANSWERS, ids=lambda row: f"{row[0]} {row[1]}")
def test_each_state_has_its_answer(
    rota: Cli, url: str, store: Rota, row: tuple[str, State, Exit, str, State]
) -> None:
    """R5.1: the caller is told which."""
    verb, state, code, said, after = row
    task_id = bring(rota, url, state)

    answer = rota(verb, task_id)

    assert answer.code == code
    assert answer.out.startswith(f"{task_id}\t{said}")
    assert store.tasks.get(task_id).state is after


@pytest.mark.parametrize("verb", ["cancel", "retry"])
def test_what_is_not_there_is_exit_code_3(rota: Cli, verb: str) -> None:
    rota("migrate")

    answer = rota(verb, NOBODY, "hello")

    assert (answer.code, answer.out) == (3, f"{NOBODY}\tnot found\nhello\tnot found\n")


def test_partly_done_is_exit_code_7_and_each_task_has_its_line(rota: Cli, url: str) -> None:
    ready, over = (bring(rota, url, state) for state in (State.SCHEDULED, State.COMPLETED))

    answer = rota("cancel", ready, over, NOBODY, "--json")

    assert answer.code == Exit.PARTLY
    assert answer.json == [
        {"id": ready, "outcome": "completed"},
        {"id": over, "outcome": "too_late"},
        {"id": NOBODY, "outcome": "not_found"},
    ]


def test_several_that_could_not_be_done_are_a_conflict(rota: Cli, url: str) -> None:
    over = bring(rota, url, State.COMPLETED)

    assert rota("cancel", over, NOBODY).code == Exit.CONFLICT


def test_ids_are_read_from_stdin(rota: Cli) -> None:
    ids = [rota.submit("report", "day=x") for _ in range(3)]
    piped = rota("list", "--columns", "id").out

    answer = rota("cancel", "-", stdin=f"{piped}\n")

    assert answer.code == 0
    assert [line.split("\t")[0] for line in answer.lines] == ids[::-1]
    assert rota("cancel", "-", stdin="").code == 0


def test_a_beginning_will_do_unless_several_have_it(rota: Cli) -> None:
    rota("submit", "report", "--batch", "-", stdin='{"payload":{"day":"x"}}\n' * 2)
    first, _ = rota("list", "--columns", "id").lines

    unclear = rota("cancel", first[:8])
    assert unclear.code == Exit.USAGE
    assert "several tasks begin with" in unclear.out
    assert rota("cancel", first[:-1]).out == f"{first}\tcancelled\n"
    assert rota("cancel", "abc", first[:8]).code == Exit.USAGE


def test_an_option_that_is_mistyped_changes_nothing(rota: Cli, store: Rota) -> None:
    task_id = rota.submit("report", "day=x")

    assert rota("cancel", task_id, "--jsno").code == Exit.USAGE
    assert store.tasks.get(task_id).state is State.READY
