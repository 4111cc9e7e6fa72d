"""`rota sessions`: the workers that are at work, and how one is asked to end (R9.1)."""

import pytest

from rota import Rota
from rota.cli.problems import Exit
from tests.cli.conftest import Cli
from tests.support.hands import Hands


def test_workers_are_listed_with_what_they_hold(rota: Cli, store: Rota) -> None:
    for number in range(3):
        rota.submit("send_result", f"student_id:={number}")
    hands = Hands(store, queues=("sms", "m*"), name="w-3")
    hands.take("sms", 2)

    (line,) = rota("sessions", "list").lines
    assert line.split("\t")[:8] == [
        hands.session.id, "w-3", "node-1", "4711", "active", "2", "10", "sms m*",
    ]  # fmt: skip
    assert "active" in rota.on_terminal("sessions", "list").out
    (shown,) = rota("sessions", "list", "--json").json
    assert (shown["id"], shown["held"], shown["live"]) == (hands.session.id, 2, True)


def test_a_worker_is_found_by_the_beginning_of_its_id_and_asked_to_end(
    rota: Cli, store: Rota
) -> None:
    rota("migrate")
    hands = Hands(store)
    shown = rota("sessions", "show", hands.session.id[:18])
    assert shown.code == 0, shown.err
    assert shown.lines[0] == f"{hands.session.id}  active"
    drained = rota("sessions", "drain", hands.session.id)
    assert drained.out == "worker-1 was asked to end; it holds 0 tasks\n"
    assert rota("sessions", "show", hands.session.id, "--json").json["draining"]
    assert store.sessions.get(hands.session.id).session.drain_at is not None


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44", Exit.NOT_FOUND),
        ("0193f2a1-7c5e", Exit.NOT_FOUND),
        ("0193", Exit.USAGE),
    ],
    ids=["absent", "prefix", "short"],
)
@pytest.mark.parametrize("verb", ["show", "drain"])
def test_what_is_not_there_is_not_found(rota: Cli, verb: str, name: str, code: Exit) -> None:
    rota("migrate")
    answer = rota("sessions", verb, name)
    assert (answer.code, answer.out) == (code, "")
    assert len(answer.err.splitlines()) == 1
