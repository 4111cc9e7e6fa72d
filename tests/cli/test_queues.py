"""`rota queues`, `rota tenants` and `rota kinds`: set up, paused and listed (R7.1-R7.3, R7.7)."""

import pytest

from rota import Rota
from rota.cli.problems import Exit
from tests.cli.conftest import Cli
from tests.support.hands import Hands


def ready(rota: Cli, count: int, *words: str) -> None:
    """Tasks of the queue `sms` that wait."""
    for number in range(count):
        rota.submit("send_result", f"student_id:={number}", *words)


# -- set ------------------------------------------------------------------------------------------


def test_a_change_prints_what_changed_and_the_version(rota: Cli) -> None:
    first = rota.on_terminal("queues", "set", "sms", "--weights", "60:25:10:5", "--aging", "5m")
    second = rota("queues", "set", "sms", "--max-depth", "100000", "--when-full", "defer")
    third = rota("queues", "set", "sms", "--fair-by", "time", "--max-depth", "none", "--json")

    assert first.code == 0, first.err
    assert first.out == "sms  weights: 50:30:15:5 -> 60:25:10:5, aging: 10m -> 5m (version 1)\n"
    assert second.out == ("sms\tmax_depth: none -> 100000, when_full: refuse -> defer\t2\n")
    assert third.json["changed"] == {"fair_by": ["tasks", "time"], "max_depth": [100000, None]}
    assert third.json["weights"] == {"critical": 60, "high": 25, "normal": 10, "low": 5}
    assert (third.json["aging"], third.json["version"], third.json["paused"]) == (300, 3, False)
    same = rota("queues", "set", "sms", "--fair-by", "time")
    assert same.out == "sms\tas it was\t3\n"


def test_a_tenant_s_part_is_changed(rota: Cli) -> None:
    first = rota.on_terminal("tenants", "set", "board", "--weight", "3")
    second = rota("tenants", "set", "board", "--max-depth", "20000", "--json")

    assert first.out == "board  weight: 1 -> 3 (version 1)\n"
    assert second.json["changed"] == {"max_depth": [None, 20000]}
    assert (second.json["weight"], second.json["version"]) == (3, 2)


REFUSED = [
    (["queues", "set", "sms"], "say what shall change. See: rota queues set --help"),
    (["queues", "set", "sms", "--weights", "60:25"], "weights: '60:25' must be four numbers"),
    (["queues", "set", "sms", "--weights", "0:1:1:1"], "weights.critical: must be a whole number"),
    (["queues", "set", "sms", "--aging", "soon"], "aging: 'soon' is no duration"),
    (["queues", "set", "sms", "--max-depth", "many"], "--max-depth: must be a whole number or no"),
    (["queues", "set", "sms", "--max-depth", "0"], "max_depth: must be a whole number from 1 to"),
    (["queues", "set", "sms", "--when-full", "drop"], "when-full"),
    (["queues", "set", "a b", "--aging", "5m"], "name: 'a b' is no name"),
    (["queues", "pause"], "name at least one queue. See: rota queues pause --help"),
    (["queues", "pause", "sms", "--reason", "x" * 256], "reason: is longer than 255 characters"),
    (["queues", "reset"], "name at least one queue. See: rota queues reset --help"),
    (["queues", "lst"], 'unknown command "lst". Did you mean "list"? See: rota queues'),
    (["tenants", "set", "board"], "say what shall change. See: rota tenants set --help"),
    (["tenants", "set", "board", "--weight", "0"], "must be a whole number from 1 to 1000"),
    (["tenants", "resume"], "name at least one tenant. See: rota tenants resume --help"),
    (["kinds", "pause"], "name at least one kind. See: rota kinds pause --help"),
]


def test_a_mistake_is_refused_in_one_line(rota: Cli) -> None:
    rota("migrate")
    for words, said in REFUSED:  # one store for all
        answer = rota(*words)

        assert (answer.code, answer.out) == (Exit.USAGE, ""), words
        assert said in answer.err, words
        assert len(answer.err.splitlines()) == 1, words


def test_a_slip_in_a_name_is_told(rota: Cli) -> None:
    """What is paused by a wrong name would go on, and somebody would rely on it."""
    ready(rota, 1)

    for words in (["pause", "smz"], ["set", "smz", "--aging", "5m"], ["resume", "smz"]):
        answer = rota("queues", *words)
        assert (answer.code, answer.out) == (Exit.NOT_FOUND, ""), words
        assert "there is no queue 'smz'; did you mean 'sms'?" in answer.err
        assert ("--new" in answer.err) == (words[0] != "resume")
    assert rota("queues", "show", "smz").code == Exit.NOT_FOUND
    assert rota("queues", "pause", "smz", "--new").out == "smz\tpaused\n"
    assert rota("queues", "pause", "quite-another").out == "quite-another\tpaused\n"
    assert "did you mean 'send_result'?" in rota("kinds", "pause", "send_results").err
    assert rota("kinds", "pause", "send_results", "--json").problem["code"] == "not_found"


def test_a_change_for_an_older_version_is_a_conflict(rota: Cli) -> None:
    rota("queues", "set", "sms", "--aging", "5m")

    answer = rota("queues", "set", "sms", "--aging", "6m", "--version", "0", "--json")

    assert (answer.code, answer.problem["code"]) == (Exit.CONFLICT, "settings_changed")
    assert rota("tenants", "set", "b", "--weight", "2", "--version", "1").code == Exit.CONFLICT


# -- pause and resume -----------------------------------------------------------------------------


def test_a_queue_is_paused_with_a_reason_and_resumed(rota: Cli, store: Rota) -> None:
    ready(rota, 3)
    hands = Hands(store)

    paused = rota.on_terminal("queues", "pause", "sms", "--reason", "provider down")
    assert (paused.out, paused.err) == (
        "sms  paused (was active, 3 waiting)\n", "Resume: rota queues resume sms\n",
    )  # fmt: skip
    assert hands.take("sms") == []
    resumed = rota.on_terminal("queues", "resume", "sms")
    assert resumed.out == "sms  active (was paused now: provider down, 3 waiting)\n"
    assert len(hands.take("sms")) == 3


def test_several_are_paused_at_once(rota: Cli) -> None:
    answer = rota("queues", "pause", "sms", "default", "--json")

    assert answer.json == [
        {"name": "sms", "outcome": "paused"}, {"name": "default", "outcome": "paused"},
    ]  # fmt: skip
    assert rota("queues", "resume", "sms", "default").lines == ["sms\tactive", "default\tactive"]
    assert rota("queues", "reset", "sms", "other").lines == ["sms\treset", "other\tas it was"]


def test_tenants_and_kinds_are_paused_and_resumed(rota: Cli, store: Rota) -> None:
    ready(rota, 1, "--tenant", "board")
    ready(rota, 1)
    hands = Hands(store)

    assert rota("tenants", "pause", "board").out == "board\tpaused\n"
    assert rota.on_terminal("tenants", "pause", "").out == '""  paused (was active)\n'
    assert hands.take("sms") == []
    assert rota("tenants", "resume", "board", "").lines == ["board\tactive", "\tactive"]
    assert rota("kinds", "pause", "send_result").out == "send_result\tpaused\n"
    assert hands.take("sms") == []
    assert rota("kinds", "resume", "send_result").out == "send_result\tactive\n"
    assert len(hands.take("sms")) == 2


# -- list and show --------------------------------------------------------------------------------


def test_queues_are_listed_with_what_waits(rota: Cli) -> None:
    ready(rota, 3)
    rota("queues", "set", "sms", "--max-depth", "100", "--when-full", "defer")
    rota("queues", "pause", "mail", "--reason", "provider down")

    lines = [line.split("\t") for line in rota("queues", "list").lines]

    assert [line[:8] for line in lines] == [
        ["default", "active", "0", "50:30:15:5", "10m", "tasks", "", ""],
        ["mail", "paused", "0", "50:30:15:5", "10m", "tasks", "", ""],
        ["sms", "active", "3", "50:30:15:5", "10m", "tasks", "100", "defer"],
    ]
    assert lines[1][8].endswith("Z: provider down")
    screen = rota.on_terminal("queues", "list", "--paused", "--no-color", width=120)
    assert screen.lines[0].split()[:4] == ["QUEUE", "STATUS", "WAITING", "WEIGHTS"]
    assert screen.lines[1].endswith("now: provider down")
    assert len(screen.lines) == 2
    as_json = rota("queues", "list", "--json").json
    assert [(one["name"], one["waiting"], one["paused"]) for one in as_json] == [
        ("default", 0, False), ("mail", 0, True), ("sms", 3, False),
    ]  # fmt: skip
    assert "There are no queues" not in screen.err
    assert rota.on_terminal("tenants", "list").err == "No tenant has settings.\n"


def test_a_queue_is_shown_with_its_limits(rota: Cli, store: Rota) -> None:
    ready(rota, 3)
    rota("queues", "set", "sms", "--max-depth", "100")
    rota("limits", "set", "--queue", "sms", "--max-running", "1", "--rate", "1/d", "--burst", "9")
    Hands(store).take("sms")

    shown = rota("queues", "show", "sms")

    assert shown.lines == [
        "sms  active",
        "  waiting   2",
        "  weights   50:30:15:5 (critical, high, normal, low)",
        "  aging     a level of priority for each 10m of waiting",
        "  fair by   tasks",
        "  depth     100, then refuse",
        "  version   1",
        "  limit     queue sms: 1 running, 1/d (burst 9); 1 of 1 running, 8 of 9 tokens left",
    ]
    as_json = rota("queues", "show", "sms", "--json").json
    assert (as_json["waiting"], as_json["max_depth"]) == (2, 100)
    assert [limit["running"] for limit in as_json["limits"]] == [1]
    rota("queues", "pause", "sms", "--reason", "down")
    assert rota("queues", "show", "sms").lines[0].endswith("Z: down")


def test_tenants_and_kinds_are_listed_and_shown(rota: Cli) -> None:
    ready(rota, 2, "--tenant", "board")
    rota("tenants", "set", "board", "--weight", "3", "--max-depth", "50")
    rota("limits", "set", "--tenant", "board", "--max-running", "5")
    rota("kinds", "pause", "report", "--reason", "wrong text")

    assert rota("tenants", "list").lines == ["board\tactive\t2\t3\t0.0%\t100.0%\t50\t"]
    (board,) = rota("tenants", "list", "--json").json
    assert (board["waiting"], board["share"], board["due"]) == (2, 0.0, 1.0)
    assert rota("tenants", "show", "board").lines == [
        "board  active",
        "  waiting   2",
        "  weight    3",
        "  depth     50",
        "  version   1",
        "  limit     tenant board: 5 running; 0 of 5 running",
    ]
    assert rota("tenants", "show", "other").lines[1] == "  weight    1"
    kinds = [line.split("\t") for line in rota("kinds", "list").lines]
    assert [line[:2] for line in kinds] == [["report", "paused"], ["send_result", "active"]]
    assert rota("kinds", "list", "--paused", "--json").json[0]["pause_reason"] == "wrong text"


@pytest.mark.parametrize("noun", ["queues", "tenants", "kinds", "limits"])
def test_where_there_is_no_store_nothing_is_listed_or_made(rota: Cli, noun: str) -> None:
    assert rota(noun, "list").code == Exit.UNREACHABLE
