"""`rota wait` and `rota explain`: how a task ends, and why it does not yet."""

import pytest

from rota import Rota
from rota.cli.problems import Exit
from rota.model import AttemptError
from rota.policy.lifecycle import Completed, Failed
from tests.cli.conftest import Cli
from tests.support.hands import Hands


def test_waiting_ends_with_the_result(rota: Cli, store: Rota) -> None:
    hands = Hands(store)
    text, other = (rota.submit("report", f"day={day}") for day in "ab")
    hands.end(hands.take(slots=1), lambda _: Completed('"sent 1"'))
    hands.complete(result='{"n":[1,null]}')

    assert (rota("wait", text[:-1]).code, rota("wait", text).out) == (0, "sent 1\n")
    assert rota("wait", other, "--timeout", "30s").out == '{"n":[1,null]}\n'
    assert rota("wait", other, "--json").json["result"] == {"n": [1, None]}


def test_waiting_for_what_failed_or_was_cancelled_is_exit_code_1(rota: Cli, store: Rota) -> None:
    cancelled = rota.submit("report", "day=x")
    rota("cancel", cancelled)
    failed = rota.submit("report", "day=y")
    Hands(store).fail(message="no route")

    answer = rota("wait", failed)
    assert (answer.code, answer.out) == (Exit.FAILED, "")
    assert answer.err == "failed: ConnectionError: no route\n"
    assert rota("wait", cancelled).err.startswith("cancelled: ")
    assert rota("wait", cancelled, "--json").json["state"] == "cancelled"


def test_not_over_in_time_is_exit_code_124(rota: Cli) -> None:
    task_id = rota.submit("report", "day=x")

    answer = rota("wait", task_id, "--timeout", "50ms")
    assert (answer.code, "is ready still" in answer.err) == (Exit.TIMED_OUT, True)
    assert rota("wait", task_id, "--timeout", "0.01", "--json").problem["code"] == "timed_out"
    assert rota("wait", task_id, "--timeout", "soon").code == Exit.USAGE
    assert rota("wait", "1" * 32).code == Exit.NOT_FOUND


def test_explain_says_why_in_words_and_in_codes(rota: Cli, store: Rota) -> None:
    """R7.8."""
    first, second = (rota.submit("report", f"day={day}") for day in "ab")
    later = rota.submit("report", "day=c", "--delay", "1h")

    def codes(task_id: str) -> list[str]:
        return [reason["code"] for reason in rota("explain", task_id, "--json").json["reasons"]]

    assert codes(later) == ["not_due"]
    assert codes(second) == ["no_worker", "in_turn"]
    answer = rota("explain", second[:-1])
    assert answer.lines[0] == f"{second}  ready"
    assert answer.lines[1].startswith("No worker is live. Start one: rota worker APP")
    assert answer.lines[2].startswith("Waits for its turn: 1 ahead in its lane")
    Hands(store, kinds=("report",)).take(slots=1)
    assert codes(first) == ["running"]
    shown = rota("explain", second, "--json").json
    assert shown["summary"].startswith("Is the next in its lane")
    assert shown["reasons"] == [{"code": "in_turn", "ahead": 0, "capped": False, "until": None}]


def test_explain_tells_what_somebody_set_up(rota: Cli, store: Rota) -> None:
    """R7.8: and the command that changes it."""
    hands = Hands(store, queues=("sms",), kinds=("send_result",))
    rota("limits", "set", "--queue", "sms", "--max-running", "1")
    rota.submit("send_result", "student_id:=1")
    task_id = rota.submit("send_result", "student_id:=2")
    assert len(hands.take("sms")) == 1
    rota("queues", "pause", "sms", "--reason", "provider down")

    answer = rota("explain", task_id)

    assert answer.lines[1].startswith("Queue sms is paused since 2")
    assert answer.lines[1].endswith(" (provider down). Resume it: rota queues resume sms")
    assert answer.lines[2] == (
        "Queue sms runs 1 of 1 tasks. Raise its limit: rota limits set --queue sms --max-running N"
    )
    assert answer.lines[3].startswith("Is the next in its lane")
    paused, capped, _ = rota("explain", task_id, "--json").json["reasons"]
    assert (paused["code"], paused["what"], paused["reason"]) == (
        "paused", "queue", "provider down",
    )  # fmt: skip
    assert capped == {
        "code": "at_cap", "queue": "sms", "tenant": None, "running": 1, "most": 1, "until": None,
    }  # fmt: skip


def test_the_kind_of_the_app_says_how_often_is_tried(rota: Cli, store: Rota) -> None:
    """R7.8: attempt n of m."""
    task_id = rota.submit("send_result", "student_id:=1")
    hands = Hands(store)
    hands.end(hands.take("sms"), lambda task: Failed(AttemptError(1, task.attempt, "E", "boom")))

    (reason,) = rota("explain", task_id, "--json").json["reasons"]

    assert (reason["why"], reason["attempt"], reason["max_attempts"]) == ("retry", 1, 3)


@pytest.mark.parametrize("verb", ["wait", "explain"])
def test_what_is_not_there_is_exit_code_3(rota: Cli, verb: str) -> None:
    assert rota(verb, "hello").code == Exit.UNREACHABLE
    rota("migrate")
    assert rota(verb, "hello").code == Exit.NOT_FOUND
