"""`rota schedules import`: a crontab moves over line by line, and can be imported again (R6.8)."""

import asyncio
import os
import pwd
from pathlib import Path

import pytest

from rota import Rota
from rota.cli.problems import Exit
from rota.cli.schedule_crontab import lines_of, open_crontab
from rota.clock import new_rng
from rota.contrib.command import add_command
from rota.model import State
from rota.node.settings import WorkerSettings
from rota.node.worker import Worker
from tests.cli.conftest import Cli

ME = pwd.getpwuid(os.geteuid()).pw_name

SYSTEM = f"""\
# comment
SHELL=/bin/bash
PATH=/usr/sbin:/usr/bin
MAILTO=root

5-55/10 * * * *\t{ME}\tcommand -v count > /dev/null && count 1 1
@reboot {ME} count --start
57 0 * * sun {ME} [ $(date +\\%d) -le 7 ] && check --all
CRON_TZ=Europe/Berlin
@daily {ME} cat%hello
0 61 * * * {ME} late
@weekly no-such-user tidy
"""


@pytest.fixture
def crontab(folder: Path) -> Path:
    """A crontab as they are under /etc/cron.d."""
    file = folder / "cron.d" / "stats"
    file.parent.mkdir()
    file.write_text(SYSTEM)
    return file


def outcomes(rota: Cli, *words: object) -> list[tuple[int, str]]:
    """What became of each line."""
    answer = rota("schedules", "import", *map(str, words), "--json")
    assert answer.out, answer.err
    return [(line["line"], line["outcome"]) for line in answer.json["lines"]]


def edit(crontab: Path, old: str, new: str) -> None:
    """Change a crontab."""
    text = crontab.read_text()
    assert old in text
    crontab.write_text(text.replace(old, new))


TAKEN = [
    (4, "noted"),
    (6, "created"),
    (7, "refused"),
    (8, "created"),
    (10, "created"),
    (11, "refused"),
    (12, "created"),
]


def test_each_line_becomes_a_schedule_or_says_why_not(
    rota: Cli, store: Rota, crontab: Path
) -> None:
    answer = rota("schedules", "import", str(crontab))

    assert answer.code == Exit.FAILED
    rows = [line.split("\t") for line in answer.lines]
    assert [(int(row[0]), row[1]) for row in rows] == TAKEN
    assert rows[0][4] == "MAILTO: no mail is sent; what a command prints is kept with its task"
    assert rows[2][4].startswith("@reboot is no time that comes again")
    assert rows[5][4].startswith("expression: hour '61'")
    assert rows[6][4] == "for user no-such-user: fails in a worker that runs as another"
    assert "4 created, 2 refused.\n" in answer.err
    assert "Times are read as UTC; --tz names another zone, and so does CRON_TZ." in answer.err
    assert "Each line names a user; if it does not, say --no-user-column." in answer.err
    stored = {schedule.name.rpartition("-")[0]: schedule for schedule in store.schedules.list()}
    assert sorted(stored) == ["stats.cat", "stats.check", "stats.count", "stats.tidy"]
    assert {one.source for one in stored.values()} == {f"crontab:{crontab}"}
    cat, count = stored["stats.cat"], stored["stats.count"]
    assert (cat.rule.expression, cat.rule.tz) == ("@daily", "Europe/Berlin")
    assert (count.rule.expression, count.rule.tz) == ("5-55/10 * * * *", "UTC")
    assert cat.work.kind == "command"
    shown = rota("schedules", "show", cat.name, "--json").json
    assert shown["payload"] == {
        "shell": "cat",
        "env": {"SHELL": "/bin/bash", "PATH": "/usr/sbin:/usr/bin", "MAILTO": "root"},
        "stdin": "hello\n",
        "user": ME,
    }
    # Not cron's: a schedule does not overlap itself, and one missed run is made up for.
    assert (shown["overlap"], shown["missed"]) == ("skip", "run_once")


def test_the_same_file_again_changes_nothing_and_doubles_nothing(
    rota: Cli, store: Rota, crontab: Path
) -> None:
    outcomes(rota, crontab)
    before = store.schedules.list()

    again = [(n, "unchanged" if said == "created" else said) for n, said in TAKEN]
    assert outcomes(rota, crontab) == again
    assert store.schedules.list() == before


def test_a_line_with_other_times_updates_its_schedule(
    rota: Cli, store: Rota, crontab: Path
) -> None:
    outcomes(rota, crontab)
    (name,) = [one.name for one in store.schedules.list() if "check" in one.name]
    rota("schedules", "pause", name)
    edit(crontab, "57 0 * * sun", "# moved\n7 1 * * sun")

    assert outcomes(rota, crontab)[3] == (9, "updated")
    schedule = store.schedules.get(name)
    assert schedule.rule.expression == "7 1 * * sun"
    assert schedule.paused_at is not None
    assert len(store.schedules.list()) == 4


def test_lines_that_are_gone_are_shown_and_deleted_when_asked(
    rota: Cli, store: Rota, crontab: Path
) -> None:
    rota("schedules", "create", "mine", "report", "@daily", "day=x")
    outcomes(rota, crontab)
    edit(crontab, f"@daily {ME} cat%hello\n", "")

    shown = rota("schedules", "import", str(crontab))
    assert row_of(shown.lines[-1]) == ("gone", "stats.cat")
    assert "Gone from the file: --prune deletes their schedules." in shown.err
    assert len(store.schedules.list()) == 5
    foreseen = rota("schedules", "import", str(crontab), "--prune", "-n")
    assert row_of(foreseen.lines[-1]) == ("deleted", "stats.cat")
    assert len(store.schedules.list()) == 5
    pruned = rota("schedules", "import", str(crontab), "--prune", "--json").json
    assert (pruned["pruned"], len(pruned["gone"])) == (True, 1)
    assert "mine" in {one.name for one in store.schedules.list()}
    assert len(store.schedules.list()) == 4


def row_of(line: str) -> tuple[str, str]:
    """What became of a schedule without a line, and its name without the mark."""
    cells = line.split("\t")
    return cells[1], cells[2].rpartition("-")[0]


def test_a_line_that_has_become_bad_keeps_its_schedule(
    rota: Cli, store: Rota, crontab: Path
) -> None:
    outcomes(rota, crontab)
    before = {one.name for one in store.schedules.list()}
    edit(crontab, "57 0 * *", "57 0 * * *")  # six fields: the command is not what it was
    edit(crontab, f"@daily {ME} cat", f"0 25 * * * {ME} cat")

    answer = rota("schedules", "import", str(crontab), "--prune", "--json")
    assert answer.json["gone"] == [name for name in sorted(before) if "check" in name]
    assert len([name for name in before if "cat" in name]) == 1
    assert {one.name for one in store.schedules.list()} >= {n for n in before if "cat" in n}


def test_nothing_is_deleted_while_a_line_cannot_be_read(
    rota: Cli, store: Rota, crontab: Path
) -> None:
    outcomes(rota, crontab)
    edit(crontab, f"@daily {ME} cat%hello", "@daily")

    answer = rota("schedules", "import", str(crontab), "--prune")
    assert "Nothing is deleted while a line cannot be read." in answer.err
    assert row_of(answer.lines[-1]) == ("gone", "stats.cat")
    assert len(store.schedules.list()) == 4


def test_a_dry_run_stores_nothing_and_needs_no_store(cli: Cli, crontab: Path) -> None:
    answer = cli("schedules", "import", str(crontab), "--dry-run")

    assert answer.code == Exit.FAILED
    assert [(int(row[0]), row[1]) for row in (line.split("\t") for line in answer.lines)] == TAKEN
    assert "Would be: 4 created, 2 refused.\n" in answer.err
    assert list(crontab.parent.parent.glob("*.db")) == []


def test_no_app_is_needed_and_a_crontab_comes_through_a_pipe(cli: Cli) -> None:
    """R8.2: a crontab can move over without Python code."""
    answer = cli(
        "schedules", "import", "-", "--source", "alice@host", "--tz", "Asia/Tokyo",
        "--overlap", "allow", "--missed", "skip", "--timeout", "1h", "--queue", "cron",
        stdin="HOME=/srv\n30 4 * * 1-5 tar cf all .\n",
    )  # fmt: skip

    assert answer.code == 0, answer.err
    (listed,) = cli("schedules", "list", "--source", "crontab:alice@host", "--json").json
    assert listed["payload"] == {"shell": "tar cf all .", "env": {"HOME": "/srv"}, "cwd": "/srv"}
    assert (listed["tz"], listed["timeout"], listed["queue"]) == (
        "Asia/Tokyo",
        3600,
        "cron",
    )
    assert (listed["overlap"], listed["missed"]) == ("allow", "skip")


@pytest.mark.slow
async def test_what_is_imported_runs_as_cron_would_run_it(folder: Path) -> None:
    """R8.2, R6.8: in its home, by its shell, with its input and its settings."""
    file = folder / "mine"
    file.write_text(
        f"HOME={folder}\nNAME = 'a b'\nSHELL=/bin/bash\n"
        '0 5 * * * read -r line; [[ $NAME == a* ]] && echo "$NAME,$line,$PWD"%50\\% off\n'
    )
    app = Rota(f"sqlite:///{folder}/rota.db")
    add_command(app)
    (line,) = lines_of(open_crontab(str(file), None, None), app.registry["command"], "UTC", {})
    assert line.declared is not None
    await app.schedules.aapply([line.declared], source="crontab:mine")
    task_id = (await app.schedules.arun_now(line.declared.name)).id

    worker = Worker(app.registry, app.connect(), WorkerSettings(allow=("command",)), rng=new_rng(1))
    running = asyncio.create_task(worker.run())
    task = await app.tasks.aended(task_id, timeout=60)
    worker.drain()
    await running

    assert task.state is State.COMPLETED, task.errors
    assert task.result["stdout"] == f"a b,50% off,{folder}\n"


def test_a_user_column_can_be_said_or_denied(cli: Cli) -> None:
    line = "0 5 * * * alice backup\n"

    def commands(*words: str) -> list[tuple[str, str | None]]:
        assert cli("schedules", "import", "-", *words, stdin=line).code == 0
        found = cli("schedules", "list", "--source", f"crontab:{words[1]}", "--json").json
        return [(one["payload"]["shell"], one["payload"].get("user")) for one in found]

    assert commands("--source", "a") == [("alice backup", None)]
    assert commands("--source", "b", "--user-column") == [("backup", "alice")]
    assert commands("--source", "c", "--no-user-column") == [("alice backup", None)]


def test_a_name_that_another_schedule_has_is_left_alone(rota: Cli, store: Rota) -> None:
    line = "0 5 * * * backup\n"
    rota("schedules", "import", "-", stdin=line)
    (mine,) = store.schedules.list()
    store.schedules.delete(mine.name)
    store.schedules.create("report", "@daily", name=mine.name, any_kind=True)

    answer = rota("schedules", "import", "-", stdin=line)
    assert answer.code == Exit.FAILED
    assert answer.lines[0].split("\t")[1] == "left"
    assert "one of this name was made at run time" in answer.out
    assert store.schedules.get(mine.name).work.kind == "report"


def test_a_zone_that_does_not_exist_takes_no_line(cli: Cli) -> None:
    text = "CRON_TZ=Europe/Nowhere\n0 5 * * * a\nCRON_TZ=\n0 6 * * * b\n"

    answer = cli("schedules", "import", "-", "-n", stdin=text)
    assert [line.split("\t")[1] for line in answer.lines] == ["refused", "created"]
    assert "tz: 'Europe/Nowhere' is no IANA time zone" in answer.out
    assert cli("schedules", "import", "-", "--tz", "Mars", stdin=text).code == Exit.USAGE


def test_on_a_terminal_the_lines_are_a_table(cli: Cli, crontab: Path) -> None:
    screen = cli.on_terminal("schedules", "import", str(crontab), "-n", "--no-color", width=120)

    assert screen.lines[0].split() == ["LINE", "BECAME", "SCHEDULE", "RULE", "WHY"]
    assert len(screen.lines) == 1 + len(TAKEN)


def test_a_file_that_cannot_be_read_is_exit_code_2(cli: Cli, folder: Path) -> None:
    for file in ("missing", str(folder)):
        answer = cli("schedules", "import", file)
        assert (answer.code, answer.err.startswith(f"rota: {file}: ")) == (Exit.USAGE, True)


def test_a_file_that_runs_nothing_is_no_mistake(cli: Cli) -> None:
    answer = cli("schedules", "import", "-", "-n", stdin=b"# \xff\n\nA=b\n")

    assert (answer.code, answer.out) == (0, "")
    assert "no line runs anything" in answer.err


def test_a_line_that_is_not_utf_8_is_refused(cli: Cli) -> None:
    answer = cli("schedules", "import", "-", "-n", stdin=b"0 5 * * * echo \xff\n0 6 * * * a\n")

    assert answer.code == Exit.FAILED
    assert [line.split("\t")[1] for line in answer.lines] == ["refused", "created"]
