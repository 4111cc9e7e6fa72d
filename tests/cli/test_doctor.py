"""`rota doctor`: what it finds, how it shows it, and its exit codes."""

from pathlib import Path

import apsw

from rota import Rota
from tests.cli.conftest import Cli


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
    assert "1 finding: SQLite" in shown.err


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
