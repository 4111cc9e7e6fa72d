"""`rota cancel` and `rota retry` by filter: counted, asked for, carried out, told in numbers."""

import io
import sys

import pytest

from rota import Rota
from rota.cli import main
from rota.cli.problems import Exit
from rota.model import State
from tests.cli.conftest import Cli, Terminal
from tests.support.hands import Hands


class Typing(Terminal):
    """A person at a terminal who types this."""


@pytest.fixture
def hands(store: Rota) -> Hands:
    """Who takes the school's tasks and ends them."""
    return Hands(store)


def submit(rota: Cli, count: int, *options: str) -> None:
    """Store so many tasks."""
    lines = "".join(f'{{"payload":{{"student_id":{n}}}}}\n' for n in range(count))
    assert rota("submit", "send_result", "--batch", "-", *options, stdin=lines).code == 0


def typed(patch: pytest.MonkeyPatch, answer: str, *words: str) -> tuple[int, str, str]:
    """Run a command at a terminal where a person types the answer."""
    screen = Terminal()
    patch.setattr(sys, "stderr", screen)
    patch.setattr(sys, "stdin", Typing(answer))
    out = io.StringIO()
    patch.setattr(sys, "stdout", out)
    return int(main(words)), out.getvalue(), screen.getvalue()


def test_a_dry_run_counts_and_changes_nothing(rota: Cli, store: Rota, hands: Hands) -> None:
    """R5.3."""
    submit(rota, 3)
    hands.take("sms")
    submit(rota, 5, "--delay", "1h")

    answer = rota("cancel", "--queue", "sms", "--dry-run")

    assert (answer.code, answer.out) == (0, "Would cancel 8 tasks, 3 of them running.\n")
    assert rota("cancel", "--queue", "sms", "-n", "--json").json == {
        "matched": 8, "completed": 5, "accepted": 3, "too_late": 0, "not_found": 0,
        "dry_run": True,
    }  # fmt: skip
    assert store.tasks.count() == {State.RUNNING: 3, State.SCHEDULED: 5}


def test_without_a_terminal_it_must_be_said_that_many_are_meant(rota: Cli, store: Rota) -> None:
    """R5.3."""
    submit(rota, 3)

    refused = rota("cancel", "--queue", "sms")
    assert refused.code == Exit.USAGE
    assert "3 tasks match; say --yes, or --expect-at-most 3" in refused.err
    more = rota("cancel", "--queue", "sms", "--expect-at-most", "2")
    assert (more.code, store.tasks.count()) == (Exit.CONFLICT, {State.READY: 3})
    assert "more than 2 tasks match; nothing was changed" in more.err

    done = rota("cancel", "--queue", "sms", "--expect-at-most", "3")
    assert (done.code, done.out) == (0, "3 tasks cancelled\n")
    submit(rota, 1)
    assert rota("cancel", "--all", "--yes").out == "1 task cancelled\n"
    assert rota("cancel", "--queue", "sms").out == "0 tasks cancelled\n"


def test_what_runs_is_asked_to_stop_by_a_deadline(rota: Cli, store: Rota, hands: Hands) -> None:
    """R5.1, R5.2."""
    submit(rota, 2)
    hands.take("sms", 1)

    answer = rota("cancel", "--tenant", "", "--yes", "--deadline", "60s", "--json")

    assert answer.json["accepted"] == answer.json["completed"] == 1
    (running,) = store.tasks.list(state="running")
    assert running.cancel_requested_at is not None
    assert rota("cancel", "--queue", "sms", "--yes", "--deadline", "soon").code == Exit.USAGE


@pytest.mark.parametrize(("answer", "left"), [("y\n", 0), ("yes\n", 0), ("n\n", 2), ("\n", 2)])
def test_a_person_is_asked(
    rota: Cli, store: Rota, monkeypatch: pytest.MonkeyPatch, answer: str, left: int
) -> None:
    """R5.3."""
    submit(rota, 2)

    with monkeypatch.context() as patch:
        code, out, screen = typed(patch, answer, "cancel", "--queue", "sms")

    assert "Cancel 2 tasks? [y/N] " in screen
    assert code == (Exit.USAGE if left else Exit.DONE)
    assert out == ("" if left else "2 tasks cancelled\n")
    assert store.tasks.count(state="ready").get(State.READY, 0) == left


def test_whoever_wants_no_questions_is_asked_none(
    rota: Cli, store: Rota, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Http-and-cli §9: `--no-input`, also on a terminal where somebody could answer."""
    submit(rota, 2)
    with monkeypatch.context() as patch:
        code, out, screen = typed(patch, "y\n", "cancel", "--queue", "sms", "--no-input")
    assert (code, out) == (Exit.USAGE, "")
    assert "[y/N]" not in screen
    assert "2 tasks match; say --yes" in screen
    with monkeypatch.context() as patch:
        code, _, screen = typed(patch, "y\n", "--no-input", "login", "http://127.0.0.1:1")
    assert code == Exit.USAGE
    assert "give the key on stdin" in screen
    assert store.tasks.count(state="ready") == {State.READY: 2}


def test_what_failed_runs_again_by_its_error(rota: Cli, store: Rota, hands: Hands) -> None:
    """R4.4."""
    submit(rota, 2)
    hands.fail("sms", type_="ProviderTimeout")
    submit(rota, 1)
    hands.fail("sms")

    assert len(rota("list", "--error", "ProviderTimeout").lines) == 2
    answer = rota("retry", "--error", "ProviderTimeout", "--yes")

    assert answer.out == "2 tasks run again\n"
    assert store.tasks.count() == {State.READY: 2, State.FAILED: 1}


def test_many_ids_are_read_and_changed_in_batches(rota: Cli, store: Rota) -> None:
    """Each has its line all the same, in the order in which they came."""
    submit(rota, 2500)
    ids = rota("list", "--all", "--columns", "id").out

    answer = rota("cancel", "-", stdin=ids)

    assert answer.code == 0
    assert answer.out == "".join(f"{id_}\tcancelled\n" for id_ in ids.split())
    assert store.tasks.count() == {State.CANCELLED: 2500}


def test_a_dry_run_by_ids_says_what_would_become_of_them(rota: Cli, store: Rota) -> None:
    submit(rota, 2)
    ids = rota("list", "--columns", "id").lines

    assert rota("cancel", *ids, "--dry-run").out == "Would cancel 2 tasks.\n"
    assert rota("retry", ids[0][:-1], "-n", "--json").json["not_retryable"] == 1
    assert store.tasks.count() == {State.READY: 2}


def test_tasks_are_listed_by_when_they_were_made(rota: Cli, store: Rota) -> None:
    """R9.1."""
    submit(rota, 3)
    stamps = rota("list", "--columns", "created_at").lines

    assert len(rota("list", "--created-from", stamps[0]).lines) >= 1
    assert rota("list", "--created-to", stamps[-1]).lines == []
