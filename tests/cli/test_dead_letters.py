"""`rota dead-letters`: found, corrected, replayed and set aside (R4.4)."""

import sys
from pathlib import Path

import pytest

from rota import Rota
from rota.cli.problems import Exit
from rota.model import State
from tests.cli.conftest import Cli, Terminal
from tests.support.hands import Hands

NOBODY = "01234567-89ab-7def-8123-456789abcdef"


@pytest.fixture
def dead(rota: Cli, store: Rota) -> list[str]:
    """The ids of three dead letters, two of them alike, newest first."""
    hands = Hands(store)
    for message in ("timed out after 30 s", "timed out after 7 s", "no such number"):
        rota.submit("send_result", "student_id:=1")
        hands.fail("sms", message)
    return [task.id for task in store.dead_letters.list()]


def test_groups_come_largest_first_and_say_how_to_go_on(rota: Cli, dead: list[str]) -> None:
    first, second = rota("dead-letters", "groups").lines
    cells = first.split("\t")

    assert cells[1:4] == ["send_result", "ConnectionError", "2"]
    assert cells[-1] == "timed out after <n> s"
    assert second.split("\t")[3] == "1"
    screen = rota.on_terminal("dead-letters", "groups", "--no-color", width=120)
    assert screen.lines[0].split()[:4] == ["GROUP", "KIND", "ERROR", "COUNT"]
    assert f"rota dead-letters replay --group {cells[0]} --rate 50" in screen.err
    shown = rota("dead-letters", "groups", "--json").json[0]
    assert (shown["group"], shown["count"], shown["sample"]) == (cells[0], 2, dead[1])
    assert rota("dead-letters", "groups", "--queue", "mail").out == ""


def test_dead_letters_are_listed_and_shown(rota: Cli, dead: list[str]) -> None:
    group = rota("dead-letters", "groups", "--json").json[0]["group"]

    assert [line.split("\t")[0] for line in rota("dead-letters", "list").lines] == dead
    assert len(rota("dead-letters", "list", "--group", group).lines) == 2
    assert rota("dead-letters", "list", "--limit", "1", "--json").json[0]["id"] == dead[0]
    assert len(rota("dead-letters", "list", "--error", "ConnectionError", "--jsonl").lines) == 3
    shown = rota("dead-letters", "show", dead[0])
    assert "Attempt 1: ConnectionError: no such number" in shown.out
    ready = rota.submit("report", "day=x")
    assert rota("dead-letters", "show", ready).code == Exit.NOT_FOUND
    assert rota("dead-letters", "list", "--json", "--jsonl").code == Exit.USAGE


def test_a_replay_by_group_is_done_once(rota: Cli, store: Rota, dead: list[str]) -> None:
    group = rota("dead-letters", "groups", "--json").json[0]["group"]
    where = ["--group", group]

    assert rota("dead-letters", "replay", *where, "-n").out == "Would replay 2 dead letters.\n"
    assert rota("dead-letters", "replay", *where).code == Exit.USAGE
    answer = rota("dead-letters", "replay", *where, "--yes", "--rate", "1000")
    assert (answer.code, answer.out) == (0, "2 dead letters replayed\n")
    again = rota("dead-letters", "replay", *where, "--yes", "--json").json
    assert again == {"matched": 2, "made": 0, "existing": 2, "skipped": 0}
    assert store.tasks.count(state="ready") == {State.READY: 2}
    assert "replayed  as " in rota("show", dead[1]).out


def test_a_replay_by_ids_says_what_it_skipped(rota: Cli, dead: list[str]) -> None:
    assert rota("dead-letters", "replay", dead[0], dead[1]).out == "2 dead letters replayed\n"
    partly = rota("dead-letters", "replay", "-", stdin=f"{dead[2]}\n{NOBODY}\n")
    assert (partly.code, partly.out) == (7, "1 dead letter replayed, 1 skipped\n")
    assert rota("dead-letters", "replay", NOBODY).code == Exit.CONFLICT


def test_a_payload_is_corrected(
    rota: Cli, store: Rota, dead: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    edit = ["dead-letters", "edit", dead[0]]

    refused = rota(*edit, "--payload", '{"student_id":"x"}')
    assert (refused.code, "payload.student_id" in refused.err) == (Exit.USAGE, True)
    for wrong in ("{", "[1]"):
        assert rota(*edit, "--payload", wrong).code == Exit.USAGE
    assert rota(*edit, "--payload", "-", stdin='{"student_id":2}').code == 0
    assert store.tasks.get(dead[0]).payload == {"student_id": 2}
    assert rota(*edit).code == Exit.USAGE  # no terminal, no editor

    monkeypatch.setenv("EDITOR", "no-such-editor --wait")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", Terminal())
        from rota.cli import main

        assert main(edit) == Exit.USAGE

    editor = tmp_path / "editor"
    editor.write_text(
        f'#!{sys.executable}\nimport sys; open(sys.argv[1], "w").write("{{\\"student_id\\": 3}}")\n'
    )
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    with monkeypatch.context() as patch:
        from rota.cli import main

        patch.setattr(sys, "stdin", Terminal())
        assert main(edit) == 0
    assert store.tasks.get(dead[0]).payload == {"student_id": 3}
    rota("dead-letters", "replay", dead[0])
    late = rota(*edit, "--payload", '{"student_id":4}')
    assert (late.code, "was replayed as" in late.err) == (Exit.CONFLICT, True)


def test_a_discard_is_undone(rota: Cli, store: Rota, dead: list[str]) -> None:
    assert rota("dead-letters", "discard", dead[0]).code == Exit.USAGE
    discard = rota("dead-letters", "discard", *dead[:2], "--reason", "the exam was moved")
    assert discard.out == "2 dead letters discarded\n"
    assert [line.split("\t")[0] for line in rota("dead-letters", "list").lines] == dead[2:]
    assert len(rota("dead-letters", "list", "--discarded").lines) == 2
    again = rota("dead-letters", "discard", dead[0], "--reason", "x")
    assert again.code == Exit.CONFLICT
    assert rota("dead-letters", "restore", "--queue", "sms", "--yes").out == (
        "2 dead letters restored\n"
    )
    assert len(store.dead_letters.list()) == 3
