"""`rota limits`: caps and rates are set, seen in use, and removed (R7.4, R7.5)."""

from rota import Rota
from rota.cli.problems import Exit
from tests.cli.conftest import Cli
from tests.support.hands import Hands


def test_a_limit_is_set_and_says_what_changed(rota: Cli) -> None:
    first = rota.on_terminal("limits", "set", "--queue", "sms", "--rate", "500", "--burst", "50")
    second = rota("limits", "set", "--queue", "sms", "--max-running", "200")
    third = rota("limits", "set", "--queue", "sms", "--rate", "none", "--json")

    assert first.code == 0, first.err
    assert first.out == "queue sms  rate: none -> 500/s, burst: none -> 50 (version 1)\n"
    assert second.out == "queue sms\tmax_running: none -> 200\t2\n"
    assert third.json["changed"] == {"rate": [500, None], "burst": [50, None]}
    assert (third.json["max_running"], third.json["version"]) == (200, 3)
    both = rota("limits", "set", "--queue", "sms", "--tenant", "board", "--rate", "30/m")
    assert both.out == "tenant board in queue sms\trate: none -> 30/m, burst: none -> 1\t1\n"
    none = rota("limits", "set", "--tenant", "", "--max-running", "5")
    assert none.out == 'tenant ""\tmax_running: none -> 5\t1\n'
    same = rota("limits", "set", "--tenant", "", "--max-running", "5")
    assert same.out == 'tenant ""\tas it was\t1\n'


REFUSED = [
    (["set", "--rate", "5"], "queue: or a tenant, or both, must be given"),
    (["set", "--queue", "sms"], "say what shall change. See: rota limits set --help"),
    (["set", "--queue", "sms", "--rate", "fast"], "rate: 'fast' is no rate; give a number a sec"),
    (["set", "--queue", "sms", "--burst", "5"], "burst: needs a rate"),
    (["set", "--queue", "sms", "--rate", "none"], "max_running: or a rate is needed"),
    (["set", "--queue", "sms", "--max-running", "0"], "to start none at all, pause instead"),
    (["set", "--queue", "sms", "--max-running", "x"], "--max-running: must be a whole number or"),
    (["set", "--queue", "sms", "--burst", "0"], "must be a whole number of at least 1"),
    (["delete"], "queue: or a tenant, or both, must be given"),
]


def test_a_mistake_is_refused_in_one_line(rota: Cli) -> None:
    rota("migrate")
    for words, said in REFUSED:  # one store for all
        answer = rota("limits", *words)

        assert (answer.code, answer.out) == (Exit.USAGE, ""), words
        assert said in answer.err, words
        assert len(answer.err.splitlines()) == 1, words


def test_limits_are_listed_with_what_is_in_use(rota: Cli, store: Rota) -> None:
    for number in range(3):
        rota.submit("send_result", f"student_id:={number}", "--tenant", "board")
    rota("limits", "set", "--queue", "sms", "--max-running", "2")
    rota("limits", "set", "--tenant", "board", "--rate", "1/d", "--burst", "10")
    rota("limits", "set", "--tenant", "", "--max-running", "5")
    Hands(store).take("sms")

    assert rota("limits", "list").lines == [
        "\t\t0 of 5\t\t\t\t1",
        "\tboard\t2\t1/d\t10\t8 of 10\t1",
        "sms\t\t2 of 2\t\t\t\t1",
    ]
    screen = rota.on_terminal("limits", "list", "--no-color")
    assert [line.split()[:2] for line in screen.lines] == [
        ["QUEUE", "TENANT"], ["any", '""'], ["any", "board"], ["sms", "any"],
    ]  # fmt: skip
    (one,) = rota("limits", "list", "--queue", "sms", "--json").json
    assert (one["running"], one["max_running"], one["tokens"], one["tenant"]) == (2, 2, None, None)
    assert len(rota("limits", "list", "--tenant", "board", "--json").json) == 1


def test_a_limit_is_deleted_and_says_what_it_was(rota: Cli) -> None:
    rota("limits", "set", "--queue", "sms", "--rate", "500", "--burst", "50", "--max-running", "9")

    gone = rota.on_terminal("limits", "delete", "--queue", "sms")

    assert gone.out == "queue sms  deleted (was 9 running, 500/s (burst 50))\n"
    again = rota("limits", "delete", "--queue", "sms")
    assert (again.code, again.err) == (
        Exit.NOT_FOUND, "rota: there is no limit for queue 'sms'\n",
    )  # fmt: skip
    assert rota("limits", "list", "--json").json == []
    rota("limits", "set", "--tenant", "b", "--max-running", "9")
    assert rota("limits", "delete", "--tenant", "b").out == "tenant b\tdeleted\t9 running\n"


def test_a_change_for_an_older_version_is_a_conflict(rota: Cli) -> None:
    rota("limits", "set", "--queue", "sms", "--rate", "5")
    changed = ["limits", "set", "--queue", "sms", "--rate", "6"]

    assert rota(*changed, "--version", "0").code == Exit.CONFLICT
    assert rota(*changed, "--version", "1").code == 0
