"""`rota doctor`: what it finds, how it shows it, and its exit codes."""

import re
import shlex
from pathlib import Path

import apsw
import pytest
from msgspec import structs

from rota import Rota
from rota.cli import build, command_first, named
from rota.policy.diagnosis import findings
from tests.cli.conftest import Cli
from tests.policy.test_diagnosis import FOUND, QUIET

REMEDIES = sorted({finding.remedy for facts, *_ in FOUND.values() for finding in findings(facts)})
PLACES = {"APP": "school:app", "ID": "0193f2a1", "NAME": "first", "N": "9"}
"""What stands in a remedy for something of the reader's own."""
WORDS = re.compile(r"rota [a-z-]+(?: (?!then\b)[^,;:\s]+)*")
OTHERS = ("select ", "alter ", "vacuum ", "commit ", "rollback ", "chmod ", "timedatectl ")
ACTS = ("start a worker", "move to a newer", "put a pooler", "end that program", "make room")


def test_a_fresh_store_is_healthy(rota: Cli, store: Rota, school: Path) -> None:
    store.migrate()
    (school / "school.db").chmod(0o600)
    answer = rota("doctor")
    assert answer.code == 0
    assert [line.split("\t")[:2] for line in answer.lines] == [["note", "no_key"]]
    shown = rota.on_terminal("doctor")
    assert shown.lines[-1].startswith("healthy: SQLite ")
    assert "rota keys create" in shown.out


def test_findings_are_told_with_their_remedies(rota: Cli, store: Rota, school: Path) -> None:
    rota.submit("send_result", "student_id:=1")
    connection = apsw.Connection(str(school / "school.db"))
    connection.execute("update ready set run_at = run_at - 60000000")
    connection.close()
    answer = rota("doctor", "--json")
    assert answer.code == 1
    told = answer.json
    assert (told["ok"], told["store"].split()[0]) == (False, "SQLite")
    assert told["findings"][0] | {"numbers": {}} == {
        "severity": "error",
        "code": "no_worker",
        "what": "1 task waits in queue sms, and no live worker takes it",
        "remedy": "rota worker APP --queue sms",
        "numbers": {},
    }
    shown = rota.on_terminal("doctor", "--no-color")
    assert shown.lines[:2] == [
        "error    1 task waits in queue sms, and no live worker takes it",
        "         rota worker APP --queue sms",
    ]
    assert shown.err.startswith("SQLite 3.")
    assert shown.err.endswith(": 1 finding\n")


def test_a_schema_that_is_behind_is_found_and_left_alone(
    rota: Cli, store: Rota, school: Path
) -> None:
    """R8.6: a look changes nothing."""
    store.migrate()
    connection = apsw.Connection(str(school / "school.db"))
    connection.execute("delete from migration where number > 5")
    answer = rota("doctor")
    assert answer.code == 1
    assert answer.out.startswith("error\tmigrations\t")
    assert answer.out.rstrip().endswith("rota migrate")
    assert connection.execute("select max(number) from migration").get == 5
    connection.close()


def test_what_cannot_be_reached_is_no_finding(cli: Cli) -> None:
    assert cli("doctor").code == 6
    assert cli("doctor", "--url", "postgresql://127.0.0.1:1/none").code == 6
    assert cli("doctor", "--url", "sqlite:///not/there.db").code == 6


@pytest.mark.parametrize("remedy", REMEDIES)
def test_each_remedy_is_something_that_can_be_done(remedy: str) -> None:
    """Issue 6, point 7: every command of ours in it is one that there is, with its options."""
    commands = WORDS.findall(remedy)
    for command in commands:
        words = [PLACES.get(word, word) for word in shlex.split(command)[1:]]
        ordered = command_first(words)
        run, *_ = build(named(ordered)).parse_args(ordered, print_error=False)
        assert run.__module__.startswith("rota.cli."), command
    assert commands or any(word in f" {remedy}" for word in (*OTHERS, *ACTS)), remedy


def test_remedies_that_name_an_option_of_a_worker_name_one_that_it_has() -> None:
    text = " ".join(REMEDIES)
    for option in set(re.findall(r"without (--[a-z-]+)", text)):
        words = ["worker", "school:app", option]
        assert build("worker").parse_args(words, print_error=False)


def test_each_code_has_facts_in_which_it_is_not_found() -> None:
    """A check that cries over everything is worth as little as one that sees nothing."""
    codes = {finding.code for facts, *_ in FOUND.values() for finding in findings(facts)}
    for facts in QUIET.values():
        assert not {finding.code for finding in findings(facts)} & codes
    assert {"no_worker", "unknown_kind", "waits_while_idle", "dead_holder"} <= codes


def test_a_file_with_another_journal_is_mended_by_its_remedy(
    rota: Cli, store: Rota, school: Path
) -> None:
    """R8.1: `rota migrate` is what the doctor says, and it helps."""
    store.migrate()
    store.close()
    connection = apsw.Connection(str(school / "school.db"))
    assert connection.execute("pragma journal_mode = delete").get == "delete"
    connection.close()
    assert any("journal_mode" in line for line in rota("doctor").lines)
    assert rota("migrate").code == 0
    assert not any("journal_mode" in line for line in rota("doctor").lines)


def test_a_path_with_blanks_is_quoted_in_its_remedy() -> None:
    """What is shown is pasted into a shell."""
    facts, *_ = FOUND["permissions to read"]
    assert facts.kept.file is not None
    file = structs.replace(facts.kept.file, path="/srv/my files/rota.db")
    (found,) = findings(structs.replace(facts, kept=structs.replace(facts.kept, file=file)))
    assert shlex.split(found.remedy) == ["chmod", "600", "/srv/my files/rota.db"]


def test_deliveries_that_nobody_makes_are_a_server_s() -> None:
    """R4.5: the queue of webhooks is no worker's of an app."""
    facts, *_ = FOUND["no_worker"]
    waiting = tuple(structs.replace(one, queue="rota") for one in facts.kept.waiting)
    (found,) = findings(structs.replace(facts, kept=structs.replace(facts.kept, waiting=waiting)))
    assert found.remedy == "rota server APP"
