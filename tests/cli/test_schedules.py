"""`rota schedules`: made, listed, changed, paused, run, made up for and deleted (R6.8)."""

import re
import sys
from pathlib import Path

import pytest
from msgspec import structs

from rota import Rota
from rota.backend import Backend
from rota.cli.problems import Exit
from rota.config import DAY, MINUTE
from rota.engine import Engine
from rota.schedule import Schedule
from rota.times import show_instant
from tests.cli.conftest import Cli, Terminal

DAILY = ["0 9 * * *", "--tz", "Europe/Berlin"]
RANGE = ["--from", "2026-01-01T00:00:00Z", "--to", "2026-01-06T00:00:00Z"]


@pytest.fixture
def daily(rota: Cli) -> str:
    """A schedule at nine in Berlin."""
    answer = rota("schedules", "create", "daily", "report", *DAILY, "day=today")
    assert answer.code == 0, answer.err
    return "daily"


def ran_late(store: Rota, name: str, late: int) -> None:
    """Let a schedule be behind by so much, and a node fire it."""

    async def work() -> None:
        backend: Backend = await store._client.opened()
        assert isinstance(backend, Engine)
        (schedule,) = await backend.get_schedules([name])
        assert schedule is not None
        cursor = backend.clock.now() - late
        behind: Schedule = structs.replace(
            schedule, cursor=cursor, next_slot=cursor + 1, next_at=cursor + 1
        )
        assert await backend.change_schedule(behind, schedule.version, schedule.cursor)
        await backend.fire()

    store._client.portal.run(work)


# -- making and reading ---------------------------------------------------------------------------


def test_a_schedule_is_made_and_listed_in_local_time_and_utc(rota: Cli, daily: str) -> None:
    line = rota("schedules", "list").lines[0].split("\t")

    assert line[:3] == ["daily", "active", "0 9 * * *"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT09:00:00\+0[12]:00", line[3])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT0[78]:00:00\.000000Z", line[4])
    assert line[5:] == ["", "0", "0"]
    screen = rota.on_terminal("schedules", "list", "--no-color", width=120)
    assert screen.lines[0].split() == [
        "NAME", "STATUS", "RULE", "NEXT", "UTC", "LAST", "FIRED", "SKIPPED",
    ]  # fmt: skip
    assert re.search(r"daily +active +0 9 \* \* \* +\w+ 09:00 \+0[12]:00", screen.lines[1])


def test_a_schedule_is_shown_with_its_rule_in_words_and_its_next_runs(
    rota: Cli, daily: str
) -> None:
    shown = rota("schedules", "show", daily)

    assert "  rule      0 9 * * * (Europe/Berlin)" in shown.lines
    assert "At 09:00" in shown.out
    assert "  missed    run_once, none older than 1d" in shown.lines
    assert "  overlap   skip" in shown.lines
    assert len(re.findall(r"09:00:00 \+0[12]00", shown.out)) == 5
    assert '"day": "today"' in shown.out
    as_json = rota("schedules", "show", daily, "--json").json
    assert (as_json["kind"], as_json["payload"]) == ("report", {"day": "today"})
    assert (as_json["tz"], as_json["max_age"]) == ("Europe/Berlin", 86400)
    assert [run.keys() for run in as_json["next"]] == [{"utc", "local", "notes"}] * 5
    assert rota("schedules", "show", as_json["id"]).out == shown.out


def test_everything_that_a_schedule_says_can_be_typed(rota: Cli) -> None:
    made = rota(
        "schedules", "create", "all", "send_result", "*/10 30 2 * * *", "student_id:=1",
        "--seconds", "--both-days", "--gap", "skip", "--fold", "both", "--tz", "Europe/Berlin",
        "--starts-at", "2020-01-01T00:00:00Z", "--ends-at", "2120-01-01T00:00:00Z",
        "--missed", "run_all", "--max-catchup", "7", "--max-age", "2h", "--grace", "5s",
        "--overlap", "queue(3)", "--jitter", "1s", "--max-runs", "9",
        "--queue", "mail", "--tenant", "board", "--priority", "1", "--timeout", "30",
        "--expires-in", "1h", "--max-attempts", "2", "--tag", "a", "--tag", "b", "--header", "x=y",
        "--concurrency-key", "gate", "--max-concurrency", "4", "--json",
    )  # fmt: skip

    assert made.code == 0, made.err
    said = made.json
    assert said["retry"]["max_attempts"] == 2
    assert said["retry"]["base"] == 9
    wanted = {
        "expression": "*/10 30 2 * * *", "every": None, "tz": "Europe/Berlin",
        "seconds": True, "both_days": True, "gap": "skip", "fold": "both",
        "starts_at": "2020-01-01T00:00:00.000000Z", "ends_at": "2120-01-01T00:00:00.000000Z",
        "missed": "run_all", "grace": 5, "max_catchup": 7, "max_age": 7200, "overlap": "queue",
        "max_pending": 3, "jitter": 1, "max_runs": 9,
        "queue": "mail", "tenant": "board", "priority": 1, "timeout": 30, "expires_in": 3600,
        "tags": ["a", "b"], "headers": {"x": "y"}, "concurrency_key": "gate",
        "max_concurrency": 4, "payload": {"student_id": 1},
    }  # fmt: skip
    assert {name: said[name] for name in wanted} == wanted


def test_an_interval_needs_no_expression(rota: Cli) -> None:
    made = rota("schedules", "create", "sweep", "report", "day=x", "--every", "90s")

    assert (made.code, made.lines[0].split("\t")[:2]) == (0, ["sweep", "created"])
    assert rota("schedules", "list").lines[0].split("\t")[2] == "every 1m30s"
    assert "Every 90 seconds" in rota("schedules", "show", "sweep").out


def test_the_built_in_kind_command_is_at_hand(rota: Cli) -> None:
    made = rota("schedules", "create", "backup", "command", "@daily", "shell=backup --all")

    assert made.code == 0, made.err
    refused = rota("schedules", "create", "other", "command", "@daily", "shel=x")
    assert (refused.code, "payload" in refused.err) == (Exit.USAGE, True)


def test_schedules_are_found_by_their_fields(rota: Cli, daily: str) -> None:
    rota("schedules", "create", "sweep", "send_result", "--every", "5m", "student_id:=1")
    rota("schedules", "pause", "sweep")

    def names(*words: str) -> list[str]:
        return rota("schedules", "list", "--columns", "name", *words).lines

    assert names() == ["daily", "sweep"]
    assert names("--kind", "report") == ["daily"]
    assert names("--paused") == ["sweep"]
    assert names("--not-paused") == ["daily"]
    assert names("--tenant", "board") == []
    assert names("--source", "crontab:/etc/crontab") == []
    limited = rota("schedules", "list", "--limit", "1", "--columns", "name,kind")
    assert limited.lines == ["daily\treport"]
    assert "for more: --limit N, or --all" in limited.err
    assert len(rota("schedules", "list", "--all", "--json").json) == 2


REFUSED = [
    (["create", "x", "report"], "expression: is missing"),
    (["create", "x", "report", "0 0 31 2 *", "day=x"], "never fires"),
    (["create", "x", "report", "@daily"], "payload.day"),
    (["create", "x", "send_result", "@daily", "student_id=1"], "for JSON write student_id:=…"),
    (["create", "x", "report", "@daily", "day=x", "nonsense"], "'nonsense' is no argument"),
    (["create", "a b", "report", "@daily", "day=x"], "name: 'a b' is no name"),
    (["create", "x", "reprot", "@daily", "day=x"], "did you mean 'report'?"),
    (["create", "x", "report", "@daily", "day=x", "--overlap", "q"], "overlap: must be one of"),
    (["create", "x", "report", "@daily", "day=x", "--missed", "no"], "missed: must be one of"),
    (["update", "daily"], "say what shall change"),
    (["update", "daily", "--tz", "Mars"], "no IANA time zone"),
    (["list", "--columns", "nme"], "--columns: 'nme' is no column; did you mean 'name'?"),
    (["list", "--columns", "name", "--json"], "--columns is for tables"),
    (["list", "--paused", "--not-paused"], "exclude each other"),
    (["pause"], "name at least one schedule. See: rota schedules pause --help"),
    (["delete", "daily"], "say --yes to delete 1 schedule"),
    (["backfill", "daily"], "requires an argument"),
    (["backfill", "daily", "--from", "10:00", "--to", "11:00"], "is no instant"),
    (["slots", "daily", "--before", "noon"], "before: 'noon' is no instant"),
]


def test_a_mistake_is_refused_in_one_line(rota: Cli, daily: str) -> None:
    for words, said in REFUSED:  # one store for all
        answer = rota("schedules", *words)

        assert (answer.code, answer.out) == (Exit.USAGE, ""), words
        assert said in (answer.err if "--json" not in words else answer.problem["detail"])
        assert len(answer.err.splitlines()) == 1, words


def test_what_is_not_there_is_exit_code_3_and_a_name_that_is_taken_5(rota: Cli, daily: str) -> None:
    for verb in ("show", "slots", "run-now", "pause", "resume"):
        assert rota("schedules", verb, "nightly").code == Exit.NOT_FOUND, verb
    assert rota("schedules", "update", "nightly", "@daily").code == Exit.NOT_FOUND
    assert rota("schedules", "delete", "nightly", "--yes").code == Exit.NOT_FOUND
    again = rota("schedules", "create", daily, "report", "@daily", "day=x")
    assert (again.code, "exists already" in again.err) == (Exit.CONFLICT, True)


def test_reading_makes_no_store(cli: Cli, folder: Path) -> None:
    for words in (["list"], ["show", "x"], ["run-now", "x"], ["create", "x", "y", "@daily"]):
        assert cli("schedules", *words).code == Exit.UNREACHABLE
    assert list(folder.glob("*.db")) == []


# -- changing -------------------------------------------------------------------------------------


def test_what_is_not_given_stays_as_it_is(rota: Cli, daily: str) -> None:
    changed = rota("schedules", "update", daily, "30 8 * * *", "day=tomorrow", "--json").json

    assert (changed["expression"], changed["tz"]) == ("30 8 * * *", "Europe/Berlin")
    assert (changed["payload"], changed["version"]) == ({"day": "tomorrow"}, 2)
    again = rota("schedules", "update", daily, "30 8 * * *")
    assert again.lines[0].split("\t")[1] == "as it was"
    policy = rota("schedules", "update", daily, "--missed", "skip", "--json").json
    assert (policy["missed"], policy["payload"]) == ("skip", {"day": "tomorrow"})


def test_a_pause_lasts_until_it_is_resumed(rota: Cli, daily: str) -> None:
    assert rota("schedules", "pause", daily, "--reason", "exam moved").out == "daily\tpaused\n"
    line = rota("schedules", "list", "--columns", "status,reason").lines[0]
    assert line == "paused\texam moved"
    assert ": exam moved" in rota("schedules", "show", daily).out
    partly = rota("schedules", "resume", daily, "nightly")
    assert partly.code == Exit.PARTLY
    assert re.match(r"daily\tactive, next \w+ \d{4}-\d\d-\d\d 09:00 Europe/Berlin\n", partly.out)
    assert partly.lines[1] == "nightly\tnot found"
    answer = rota("schedules", "pause", daily, "nightly", "--json").json
    assert answer == [
        {"name": "daily", "outcome": "paused"},
        {"name": "nightly", "outcome": "not_found"},
    ]


def test_a_deletion_is_asked_for(
    rota: Cli, daily: str, monkeypatch: pytest.MonkeyPatch, store: Rota
) -> None:
    from rota.cli import main

    def answered(text: str) -> int:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", Terminal(text))
            patch.setattr(sys, "stderr", Terminal())
            return main(["schedules", "delete", daily])

    assert answered("\n") == Exit.USAGE
    assert len(store.schedules.list()) == 1
    assert answered("y\n") == 0
    assert store.schedules.list() == []


def test_a_deletion_leaves_the_tasks_alone(rota: Cli, daily: str, store: Rota) -> None:
    rota("schedules", "run-now", daily)

    assert rota("schedules", "delete", daily, "--yes").out == "daily\tdeleted\n"
    assert len(store.tasks.list()) == 1


# -- running --------------------------------------------------------------------------------------


def test_run_now_makes_a_task_unless_one_is_not_over(rota: Cli, daily: str, store: Rota) -> None:
    """R6.6: a schedule does not overlap itself."""
    first = rota("schedules", "run-now", daily)

    assert store.tasks.get(first.lines[0]).payload == {"day": "today"}
    shown = rota("show", first.lines[0]).out
    schedule = store.schedules.get(daily)
    assert f"  schedule  {schedule.id}\n" in shown
    assert f"  id        {schedule.id}\n" in rota("schedules", "show", daily).out
    listed = rota("list", "--schedule", schedule.id, "--columns", "id").lines
    assert listed == first.lines
    assert rota("list", "--schedule", "0" * 32).lines == []
    assert f"  gate      schedule:{schedule.id}, room for 1\n" in shown
    busy = rota("schedules", "run-now", daily)
    assert (busy.code, "must not overlap itself" in busy.err) == (Exit.CONFLICT, True)
    forced = rota("schedules", "run-now", daily, "--force", "--json").json
    assert forced["id"] in {task.id for task in store.tasks.list()}


def test_a_backfill_says_first_what_would_run_and_makes_each_slot_once(
    rota: Cli, daily: str, store: Rota
) -> None:
    backfill = ["schedules", "backfill", daily, *RANGE]

    assert rota(*backfill, "-n").out == "5 slots would run, 0 exist already\n"
    assert store.tasks.list() == []
    assert rota(*backfill).out == "5 tasks made, 0 exist already\n"
    assert rota(*backfill, "--dry-run").out == "0 slots would run, 5 exist already\n"
    assert rota(*backfill, "--json").json["existing"] == 5
    assert len(store.tasks.list()) == 5


def test_a_backfill_of_days_means_those_of_the_schedule_s_zone(rota: Cli, store: Rota) -> None:
    """R6.2: the first slot of a day in Berlin lies in the evening before in UTC."""
    zone = ["--tz", "Europe/Berlin"]
    rota("schedules", "create", "midnight", "report", "0 0 * * *", *zone, "day=x")
    days = ["--from", "2026-01-01", "--to", "2026-01-03"]

    assert rota("schedules", "backfill", "midnight", *days).out == "2 tasks made, 0 exist already\n"
    slots = [slot.slot for slot in store.schedules.slots("midnight")]
    assert [show_instant(slot) for slot in slots] == [
        "2026-01-01T23:00:00.000000Z",
        "2025-12-31T23:00:00.000000Z",
    ]


def test_slots_say_what_became_of_them_and_why(rota: Cli, daily: str, store: Rota) -> None:
    """R6.5: what does not run does not vanish silently."""
    rota("schedules", "backfill", daily, *RANGE)
    rota("schedules", "create", "sweep", "report", "day=x", "--every", "1m", "--missed", "skip")
    ran_late(store, "sweep", 10 * MINUTE)

    first, *_ = rota("schedules", "slots", daily).lines
    cells = first.split("\t")
    assert cells[:2] == ["2026-01-05T09:00:00+01:00", "fired, backfilled"]
    assert cells[-1] in {task.id for task in store.tasks.list()}
    shown = rota("schedules", "slots", daily, "--limit", "1", "--json").json
    assert shown[0]["slot"] == "2026-01-05T08:00:00.000000Z"
    before = rota("schedules", "slots", daily, "--before", "2026-01-02T00:00:00Z")
    assert len(before.lines) == 1
    missed = rota("schedules", "slots", "sweep", "--json").json
    assert "skipped:missed" in {slot["state"] for slot in missed}
    screen = rota.on_terminal("schedules", "slots", "sweep", "--no-color", width=120)
    assert screen.lines[0].split() == ["SLOT", "BECAME", "COUNT", "DECIDED", "TASK"]
    assert "skipped:missed" in screen.out
    fired = rota("schedules", "list", "--columns", "name,fired,skipped").lines[1].split("\t")
    assert (fired[0], int(fired[1]) <= 1, int(fired[2]) >= 9) == ("sweep", True, True)


def test_a_schedule_that_is_over_says_so(rota: Cli, store: Rota) -> None:
    rota("schedules", "create", "once", "report", "day=x", "--every", "1h", "--max-runs", "1")
    ran_late(store, "once", 2 * DAY)

    assert rota("schedules", "list", "--columns", "name,status,fired").lines == ["once\tover\t1"]
    shown = rota("schedules", "show", "once")
    assert "Next\n  none\n" in shown.out
    assert "1 fired" in shown.out
