"""A PostgreSQL server that lives as long as a `with` block, from a wheel.

For tests, benchmarks and the demo: nothing has to be installed or started by hand. Its durability
is PostgreSQL's default (fsync and synchronous_commit on) unless the settings say otherwise.
Access is by trust, on the loopback address only: not for data that matters.
"""

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Literal, Self
from urllib.parse import quote

from rota.clock import new_rng
from rota.contrib._postgres_wheel import Programs
from rota.errors import ConfigurationError

StopMode = Literal["fast", "immediate"]

HOST = "127.0.0.1"
SUPERUSER = "postgres"
PORTS = range(10_000, 32_000)
"""Of these no common system lends one to a connection that goes out."""
PORT_ATTEMPTS = 3  # another process may take the free port before the server does

# Goes on when it is told to or when its owner ends, however that happens, SIGKILL included.
GUARD = 'read -r line; "$1" --pgdata "$2/data" --mode immediate -w stop; rm -rf "$2"'


class EmbeddedPostgres:
    """Runs a PostgreSQL server of its own from entering to leaving, and leaves nothing behind.

    `settings` are lines of postgresql.conf. The server and its files go away with the `with`
    block, with the interpreter, or, if this process is killed, by a guard process.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self.settings = dict(settings or {})
        self.port = 0
        self._directory: Path | None = None
        self._programs: Programs | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def __enter__(self) -> Self:
        if self._directory is not None:
            raise ConfigurationError("this embedded PostgreSQL is running already")
        self._owner = os.getpid()
        self._directory = Path(tempfile.mkdtemp(prefix="rota-postgres-"))
        atexit.register(self.close)
        try:
            self._programs = Programs(self._directory)
            pg_ctl = str(self._programs.folder / "pg_ctl")
            self._guard = self._programs.start_guard(
                "/bin/sh", "-c", GUARD, "rota-guard", pg_ctl, str(self._directory)
            )
            self._init()
            self._start_on_free_port()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The address of the database `postgres`, for any client that speaks TCP."""
        return self.database_url("postgres")

    def database_url(self, name: str) -> str:
        """The address of the database called `name`, which need not exist yet."""
        return f"postgresql://{SUPERUSER}@{HOST}:{self.port}/{quote(name, safe='')}"

    @property
    def log_file(self) -> Path:
        """Where the server writes its log; the file goes away with the server."""
        return self._path("log")

    def create_database(self, name: str, template: str = "template1") -> str:
        """Create a database as a copy of `template` and return its address."""
        self._run("createdb", *self._connection(), "--template", template, "--", name)
        return self.database_url(name)

    def drop_database(self, name: str) -> None:
        """Remove a database, disconnecting whoever still uses it; none of that name is fine."""
        self._run("dropdb", *self._connection(), "--force", "--if-exists", "--", name)

    def start(self) -> None:
        """Start the server again after `stop`, on the same port; returns once it answers."""
        self._pg_ctl("--log", str(self.log_file), "-w", "start")

    def stop(self, mode: StopMode = "fast") -> None:
        """Stop the server and keep its data; `immediate` is like a crash: it recovers at start."""
        self._pg_ctl("--mode", mode, "-w", "stop")

    def restart(self, mode: StopMode = "fast") -> None:
        """Stop and start the server on the same port; every connection is lost, no commit is."""
        self.stop(mode)
        self.start()

    def close(self) -> None:
        """End the server and remove its files; calling it again does nothing."""
        if self._directory is None or self._owner != os.getpid():
            return  # closed already, or in a fork of the owner: not this process's to end
        directory, self._directory = self._directory, None
        guard, self._guard = self._guard, None
        if guard is not None:
            # Told with a line: forks of this process may keep the pipe open.
            guard.communicate(b"\n")
        shutil.rmtree(directory, ignore_errors=True)
        atexit.unregister(self.close)

    def _init(self) -> None:
        self._run(
            "initdb",
            *("--pgdata", str(self._path("data"))),
            *("--username", SUPERUSER),
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",  # the empty cluster alone; what is committed later is synced as usual
        )
        self._configure(
            {
                "listen_addresses": HOST,
                "unix_socket_directories": "",
                "timezone": "UTC",
                "log_timezone": "UTC",
                **self.settings,
            }
        )

    def _configure(self, settings: Mapping[str, str]) -> None:
        with self._path("data/postgresql.conf").open("a", encoding="utf-8") as conf:
            for name, value in settings.items():
                quoted = value.replace("\\", "\\\\").replace("'", "''")
                conf.write(f"{name} = '{quoted}'\n")

    def _start_on_free_port(self) -> None:
        for attempt in range(1, PORT_ATTEMPTS + 1):
            self.port = free_port()
            self._configure({"port": str(self.port)})  # of several lines the last one counts
            try:
                self.start()
            except ConfigurationError as error:
                if attempt == PORT_ATTEMPTS or "Address already in use" not in str(error):
                    raise
            else:
                return

    def _pg_ctl(self, *arguments: str) -> None:
        try:
            self._run("pg_ctl", "--pgdata", str(self._path("data")), *arguments)
        except ConfigurationError as error:
            log = self._path("log")
            tail = log.read_text(errors="replace")[-2000:] if log.exists() else ""
            raise ConfigurationError(f"{error}\n{tail}".strip()) from None

    def _connection(self) -> tuple[str, ...]:
        return ("--host", HOST, "--port", str(self.port), "--username", SUPERUSER, "--no-password")

    def _path(self, name: str) -> Path:
        if self._directory is None:
            raise ConfigurationError("this embedded PostgreSQL is not running")
        return self._directory / name

    def _run(self, program: str, *arguments: str) -> None:
        if self._directory is None or self._programs is None:
            raise ConfigurationError("this embedded PostgreSQL is not running")
        self._programs.run(program, *arguments)


def free_port() -> int:
    """Return a port of this machine's loopback address that nobody uses at present.

    It is none that the system lends to connections: one of those may be taken by any program's
    connection before the server is up or while it is down, even by a client's that tries in vain
    to reach that very port. Raises `ConfigurationError` if none can be found.
    """
    for port in new_rng().sample(PORTS, 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind((HOST, port))
            return port
    raise ConfigurationError(f"no port of {HOST} from {PORTS.start} to {PORTS.stop} is free")
