"""Databases that one test has to itself, and servers whose files lie in memory."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from rota.contrib.embedded import EmbeddedPostgres

MEMORY = Path("/dev/shm")  # noqa: S108 - each directory in it is made by tempfile
ROOM = 4 << 30
"""Bytes that have to be free there: a server takes some hundred megabytes, and several may run."""

NOT_SYNCED = {"fsync": "off", "full_page_writes": "off", "max_wal_size": "128MB"}
"""Settings of a server that does not wait for the disk."""

_numbers = count(1)


def roomy() -> bool:
    """Say whether the system lends memory for files, and enough of it."""
    return os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM


@contextmanager
def in_memory() -> Iterator[None]:
    """Let temporary files be made in memory, where the system has enough of it.

    To make and drop the files of tables and databases is most of what tests ask of PostgreSQL, and
    a disk's file system takes ten times as long for it.
    """
    with pytest.MonkeyPatch.context() as patch:
        if roomy():
            patch.setattr(tempfile, "tempdir", str(MEMORY))
        yield


class Databases:
    """Makes and drops databases of a server over one connection; the programs take far longer."""

    def __init__(self, server: EmbeddedPostgres) -> None:
        self._server = server
        self._link: psycopg.Connection | None = None

    @contextmanager
    def one(self, template: str = "template1") -> Iterator[str]:
        """Hand out the address of a database that is a copy of `template`, and drop it then."""
        name = f"test_{next(_numbers)}"
        as_name, as_template = sql.Identifier(name), sql.Identifier(template)
        self._do(sql.SQL("create database {} template {}").format(as_name, as_template))
        yield self._server.database_url(name)
        self._do(sql.SQL("drop database {} with (force)").format(as_name))

    def close(self) -> None:
        """Let go of the connection."""
        if self._link is not None:
            self._link.close()

    def _do(self, statement: sql.Composed) -> None:
        # A test may have ended every connection, or the server.
        if self._link is None or self._link.closed:
            self._link = psycopg.connect(self._server.url, autocommit=True)
        try:
            self._link.execute(statement)
        except psycopg.OperationalError:
            self._link.close()
            self._link = psycopg.connect(self._server.url, autocommit=True)
            self._link.execute(statement)
