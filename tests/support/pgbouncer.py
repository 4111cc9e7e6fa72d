"""PgBouncer in transaction mode before a PostgreSQL server, from the system's package."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from rota.contrib._postgres_wheel import ensure_account
from rota.contrib.embedded import free_port

HOST = "127.0.0.1"
SERVER_CONNECTIONS = 4

# Every transaction goes to another connection of the server than the last one, so that nothing
# that a client left on one can serve it, and what it left is in the way of somebody else.
SETTINGS = """
[databases]
* = host={host} port={target} user=postgres
[pgbouncer]
listen_addr = {host}
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {connections}
server_round_robin = 1
log_connections = 0
log_disconnections = 0
log_stats = 0
"""
# Ends when it is told to or when its owner ends, however that happens. What it says ends with it:
# the guard itself lets go of the pipe.
GUARD = '"$1" "$2" & exec >&- 2>&-; read -r line; kill $!; wait'


def find_pgbouncer() -> str:
    """Return where the program is; without it skip the test, but never where all must run."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is not None:
        return program
    missing = "there is no pgbouncer: apt-get install pgbouncer"
    if os.environ.get("CI"):
        pytest.fail(missing)
    pytest.skip(missing)


class PgBouncer:
    """Runs one before the server at port `target` of this machine while the `with` lasts."""

    def __init__(self, target: int) -> None:
        self._program = find_pgbouncer()
        self._target = target

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="rota-pgbouncer-"))
        self.port = free_port()
        settings = self._folder / "pgbouncer.ini"
        settings.write_text(
            SETTINGS.format(
                host=HOST,
                target=self._target,
                port=self.port,
                connections=SERVER_CONNECTIONS,
            )
        )
        # It refuses to run as root, as PostgreSQL does, and takes the same account.
        account = ensure_account() if os.geteuid() == 0 else None
        if account is not None:
            os.chown(self._folder, *account)
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", GUARD, "pgbouncer-guard", self._program, str(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd="/",
            user=account.user if account else None,
            group=account.group if account else None,
            extra_groups=[] if account else None,
        )
        try:
            self._wait()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._guard.communicate(b"\n")
        shutil.rmtree(self._folder, ignore_errors=True)

    def url(self, database: str) -> str:
        """The address of a database of the server through the pooler, without Rota's mark."""
        return f"postgresql://postgres@{HOST}:{self.port}/{database}"

    def _wait(self) -> None:
        assert self._guard.stdout is not None
        said = b""
        while b"process up" not in said:
            line = self._guard.stdout.readline()
            if not line:
                raise RuntimeError(f"pgbouncer did not start: {said.decode()}")
            said += line
