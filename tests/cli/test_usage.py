"""A mistake ends in one line that says what to do, and in an exit code that scripts can trust."""

import inspect
import os
import re
import signal
import subprocess
import sys
from array import array
from contextlib import nullcontext
from fcntl import ioctl
from pathlib import Path
from termios import FIONREAD
from typing import IO

import pytest
from cyclopts import App

from rota.cli import COMMANDS, build, command_first
from rota.cli.problems import Exit, pointer
from tests.cli.conftest import ROTA, Cli
from tests.system.harness import wait_until

ROOT = Path(__file__).resolve().parents[2]


def command(name: str) -> App:
    """The parser of a command."""
    app = build(name)
    for word in name.split():
        app = app[word]
    return app


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_that_teaches(cli: Cli, name: str) -> None:
    answer = cli(*name.split(), "--help")

    assert answer.code == 0
    assert COMMANDS[name].summary in answer.out
    assert f"    $ rota {name}" in answer.out
    assert "--json" in answer.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_every_command_is_explained(name: str) -> None:
    arguments = command(name).assemble_argument_collection(parse_docstring=True)

    assert [a.name for a in arguments if a.show and not a.parameter.help] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_of_a_command_is_the_first_line_of_its_docstring(name: str) -> None:
    function = command(name).default_command

    assert (function.__doc__ or "").splitlines()[0] == COMMANDS[name].summary


@pytest.mark.parametrize("name", COMMANDS)
def test_help_reads_well_on_80_columns(name: str) -> None:
    text = inspect.getdoc(command(name).default_command) or ""

    assert [line for line in text.splitlines() if len(line) > 79] == []


def test_every_command_and_option_is_in_the_reference() -> None:
    text = (ROOT / "docs/reference/cli.md").read_text()

    assert re.findall(r"^## rota (.+)$", text, re.MULTILINE) == list(COMMANDS)
    sections = dict(
        re.findall(r"^## rota ([^\n]+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    )
    common = text.partition("## rota")[0]
    for name in COMMANDS:
        arguments = command(name).assemble_argument_collection()
        options = [a.name for a in arguments if a.show and a.name.startswith("--")]
        where = sections[name] + common
        assert [option for option in options if f"`{option}" not in where] == [], name


def test_without_a_command_there_is_help(cli: Cli) -> None:
    answer = cli()

    assert answer.code == 0
    assert all(name.split()[0] in answer.out for name in COMMANDS)
    verbs = cli("dead-letters").out
    assert all(name.split()[-1] in verbs for name in COMMANDS if name.startswith("dead-letters"))


MISTAKES = [
    (["sumbit"], 'unknown command "sumbit". Did you mean "submit"? See: rota --help'),
    (["list", "--quue", "x"], "unknown option: --quue. Did you mean --queue? See: rota list"),
    (["list", "--limit", "3.7"], "must be a whole number of at least 1, not '3.7'"),
    (["list", "--limit", "0x10"], "must be a whole number of at least 1, not '0x10'"),
    (["list", "--limit", "9" * 20], "must be a whole number of at most 1,000,000,000, not"),
    (["list", "--limit", "9" * 5_000], "must be a whole number of at least 1, not '999"),
    (["list", "--url", "http://["], "the address of a server is http://host:port"),
    (["list", "--url", "http://h:99999"], "the address of a server is http://host:port"),
    (["dev"], "name the app, for instance: rota dev app:app"),
    (["dev", "app.py"], "'app.py' is no app; write it as app:app"),
    (["server", "--metrics-port", "70000"], "must be a whole number from 0 to 65535"),
    (["worker", "a:b", "--metrics-port", "70000"], "must be a whole number from 0 to 65535"),
    (["list", "--limit", "0"], "must be a whole number of at least 1, not '0'"),
    (["list", "--state", "redy"], 'Did you mean "ready"?'),
    (["list", "--columns", "idd"], "--columns: 'idd' is no column; did you mean 'id'?"),
    (["list", "--columns", "id", "--jsonl"], "--columns is for tables"),
    (["list", "--queue"], "requires an argument"),
    (["show"], "requires an argument. See: rota show --help"),
    (["cancel"], "name at least one task, or give a filter. See: rota cancel --help"),
    (["cancel", "1" * 32, "--queue", "x"], "ids and filters exclude each other"),
    (["cancel", "--queue", "x", "--all"], "--all is for no filter at all"),
    (["cancel", "1" * 32, "--expect-at-most", "1"], "--expect-at-most goes with a filter"),
    (["list", "--watch", "--all"], "--watch shows the newest tasks"),
    (["list", "--created-from", "10:00"], "created_from: '10:00' is no instant"),
    (["dead-letters", "lst"], 'unknown command "lst". Did you mean "list"? See: rota dead-letters'),
    (["dead-letters", "replay", "--rate", "fast", "--all"], "--rate: 'fast' is no number"),
    (["dead-letters", "replay", "--foo"], "unknown option: --foo. See: rota dead-letters replay"),
    (["dead-letters", "discard", "--all"], "requires an argument"),
    (["retry", "--foo"], "unknown option: --foo. See: rota retry --help"),
    (["submit"], "name the kind of task to submit, or a file with --batch"),
    (["submit", "report", "day"], "'day' is no argument; write k=v for text or k:=v for JSON"),
    (["submit", "report", "--per-item"], "--per-item is for --batch"),
    (["submit", "report", "day=x", "--batch", "-"], "exclude each other"),
    (["submit", "report", "--header", "x"], "--header: 'x' must be k=v"),
    (["submit", "report", "--priority", "11"], "must be a whole number from 0 to 10, not '11'"),
    (["worker"], "name the app, for instance: rota worker app:app"),
    (["worker", "a:b", "--concurrency", "0"], "must be a whole number of at least 1"),
    (["worker", "a:b", "--grace", "soon"], "--grace: 'soon' is no duration"),
    (["list", "--url", "ftp://x"], "give sqlite:///file.db or postgresql://"),
]


@pytest.mark.parametrize(("words", "said"), MISTAKES, ids=lambda value: " ".join(value[:40]))
def test_a_mistake_is_refused_in_one_line_with_exit_code_2(
    cli: Cli, words: list[str], said: str
) -> None:
    """R1.6: the command line's side of it."""
    answer = cli(*words)

    assert answer.code == Exit.USAGE
    assert said in answer.err
    assert re.fullmatch(r"rota: .+\n", answer.err)
    assert answer.out == ""


@pytest.mark.parametrize(("words", "said"), MISTAKES, ids=lambda value: " ".join(value[:40]))
def test_with_json_a_mistake_is_a_problem_object_on_stderr(
    cli: Cli, words: list[str], said: str
) -> None:
    answer = cli("--json", *words)

    assert answer.code == Exit.USAGE
    assert answer.out == ""
    assert {"type", "title", "status", "code", "detail"} <= answer.problem.keys()


def test_one_form_of_json_at_a_time(cli: Cli) -> None:
    answer = cli("list", "--json", "--jsonl")

    assert answer.code == Exit.USAGE
    assert "exclude each other" in answer.problem["detail"]


def test_verbose_shows_where_an_error_came_from(cli: Cli) -> None:
    answer = cli("list", "--verbose", "--url", "ftp://x")

    assert answer.code == Exit.USAGE
    assert "Traceback" in answer.err
    assert answer.err.splitlines()[-1].startswith("rota: ")


def test_a_fault_of_our_own_is_one_line_and_exit_code_1(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.cli._run", lambda words: 1 / 0)

    answer = cli("list")

    assert answer.code == Exit.FAILED
    assert answer.err == "rota: ZeroDivisionError: division by zero (--verbose shows where)\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], []),
        (["list"], ["list"]),
        (["--json", "list", "--all"], ["list", "--json", "--all"]),
        (["--url", "x", "--app=y", "show", "1"], ["show", "--url", "x", "--app=y", "1"]),
        (["list", "--json"], ["list", "--json"]),
        (["--json"], ["--json"]),
        (["--json", "dead-letters", "list"], ["dead-letters", "list", "--json"]),
        (["dead-letters", "--url", "x", "show", "1"], ["dead-letters", "show", "--url", "x", "1"]),
        (["dead-letters"], ["dead-letters"]),
        (["--help"], ["--help"]),
    ],
)
def test_general_options_may_stand_before_the_command(
    words: list[str], expected: list[str]
) -> None:
    assert command_first(words) == expected


def test_the_place_of_a_field_is_a_json_pointer() -> None:
    assert pointer("payload.a[2].b") == "/payload/a/2/b"


@pytest.mark.parametrize("library", ["uvicorn", "watchfiles"])
def test_a_library_that_is_not_installed_is_named_with_its_extra(
    rota: Cli, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    refused = rota("dev", "school:app")
    assert refused.code == Exit.USAGE
    assert library in refused.err
    assert "pip install 'rota[server]'" in refused.err


def test_the_version_is_printed(cli: Cli) -> None:
    assert cli("version").out == cli("--version").out
    assert cli("version", "--json").json["version"] in cli("version").out


def test_a_store_that_is_out_of_reach_is_exit_code_6_at_once(cli: Cli) -> None:
    answer = cli("list", "--url", "postgresql://rota:secret@127.0.0.1:1/rota")

    assert answer.code == Exit.UNREACHABLE
    assert "Is the address right (--url, ROTA_URL), and does the server run?" in answer.err
    assert "secret" not in answer.err


def test_a_store_that_is_not_there_is_not_made_by_looking_at_it(cli: Cli, folder: Path) -> None:
    for words in (["list"], ["show", "1" * 32], ["cancel", "1" * 32], ["submit", "report"]):
        assert cli(*words).code == Exit.UNREACHABLE

    assert list(folder.glob("*.db")) == []


@pytest.mark.slow
def test_help_starts_quickly_and_loads_no_command() -> None:
    code = (
        "import sys; from rota.cli import main; main(['--help']); "
        "loaded = [m for m in sys.modules if m.startswith('rota.cli.')]; "
        "print(sorted(loaded), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    tables = ["command", "commands", "people", "schedule_commands"]
    assert done.stderr == f"{sorted(f'rota.cli.{m}' for m in [*tables, 'problems', 'text'])}\n"


@pytest.mark.slow
def test_a_reader_that_leaves_ends_it_quietly(rota: Cli, school: Path) -> None:
    lines = "".join(f'{{"payload":{{"student_id":{n}}}}}\n' for n in range(3000))
    assert rota("submit", "send_result", "--batch", "-", stdin=lines).code == 0

    process = _start("list", "--all", cwd=school)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()

    assert process.wait(60) == Exit.CLOSED_PIPE
    assert process.stderr is not None
    with process.stderr as errors, process.stdin or nullcontext():
        assert errors.read() == ""


@pytest.mark.slow
def test_ctrl_c_is_exit_code_130(school: Path) -> None:
    process = _start("submit", "send_result", "--batch", "-", "--verbose", cwd=school)
    assert process.stdin is not None
    process.stdin.write('{"payload":{"student_id":1}}\n')
    process.stdin.flush()
    wait_until(lambda: process.poll() is not None or _unread(process.stdin) == 0)

    process.send_signal(signal.SIGINT)

    assert process.wait(60) == Exit.INTERRUPTED
    process.communicate()


def _unread(pipe: IO[str] | None) -> int:
    """Return how many bytes of what was written to a pipe nobody has read yet."""
    assert pipe is not None
    count = array("i", [0])
    ioctl(pipe.fileno(), FIONREAD, count)
    return count[0]


def _start(*words: str, cwd: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*ROTA, *words],
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("ROTA_")},
    )
