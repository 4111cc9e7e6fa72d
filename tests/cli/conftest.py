"""A folder with an app in it, and the command line called in it."""

import importlib
import io
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rota import Rota
from rota.cli import main

SCHOOL = """
from rota import Backoff, Rota

app = Rota("sqlite:///school.db")
number = 7


@app.task(queue="sms", priority=2, timeout=30, retry=Backoff(max_attempts=3, base=9))
async def send_result(student_id: int, phone: str = "") -> str:
    return f"sent {student_id}"


@app.task
def report(day: str) -> None: ...
"""


OF_SERVERS = ("ROTA_TOKEN", "ROTA_TOKEN_FILE", "ROTA_LOG_FORMAT")
ROTA = [sys.executable, "-c", "import sys; from rota.cli import main; sys.exit(main())"]
"""The command in a process of its own, as its console script starts it."""


class Answer(msgspec.Struct, frozen=True):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines of data."""
        return self.out.splitlines()

    @property
    def json(self) -> Any:
        """The data as JSON."""
        return msgspec.json.decode(self.out)

    @property
    def problem(self) -> Any:
        """The error as JSON."""
        return msgspec.json.decode(self.err.splitlines()[-1])


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


class Cli:
    """Calls `rota` in this process and returns what it left behind."""

    def __init__(self, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self._capsys = capsys
        self._patch = patch

    def __call__(self, *arguments: str, stdin: str | bytes = "") -> Answer:
        """Run a command whose output goes into a pipe."""
        self._capsys.readouterr()
        data = stdin.encode() if isinstance(stdin, str) else stdin
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        code = main(arguments)
        captured = self._capsys.readouterr()
        return Answer(int(code), captured.out, captured.err)

    def on_terminal(self, *arguments: str, width: int = 80) -> Answer:
        """Run a command whose output goes to a terminal of this width."""
        self._patch.setenv("COLUMNS", str(width))
        with self._patch.context() as patch:
            screen = Terminal()
            patch.setattr(sys, "stdout", screen)
            answer = self(*arguments)
        return msgspec.structs.replace(answer, out=screen.getvalue())

    def submit(self, *arguments: str) -> str:
        """Submit a task that must be taken and return its id."""
        answer = self("submit", *arguments, "--json")
        assert answer.code == 0, answer.err
        return str(answer.json["id"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, with no setting anywhere."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()  # the search for settings ends here
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("ROTA_URL", "ROTA_APP", "NO_COLOR", "FORCE_COLOR", *OF_SERVERS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))  # where keys are kept
    monkeypatch.setenv("TERM", "xterm")
    return tmp_path


@pytest.fixture
def cli(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Cli]:
    """The command line, in a folder without an app."""
    level = logging.getLogger("rota").level
    yield Cli(capsys, monkeypatch)
    logging.getLogger("rota").setLevel(level)


@pytest.fixture
def school(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An app `school:app` in the folder, set by `rota.toml`."""
    (folder / "school.py").write_text(SCHOOL)
    (folder / "rota.toml").write_text('app = "school:app"\n')
    importlib.invalidate_caches()
    yield folder
    sys.modules.pop("school", None)


@pytest.fixture
def rota(cli: Cli, school: Path) -> Cli:
    """The command line, in a folder with the app `school:app`."""
    return cli


@pytest.fixture
def store(school: Path) -> Iterator[Rota]:
    """A bare app at the school's store, to look at and change what is in it."""
    with Rota(f"sqlite:///{school}/school.db") as app:
        yield app
