"""The schema of the file: is it new enough, and how it becomes so."""

from pathlib import Path
from threading import Event
from typing import Final

import apsw

from rota.clock import wall
from rota.errors import SchemaOutOfDate
from rota.store.sqlfiles import Migration, migrations
from rota.store.sqlite.connection import connect, sqlite_version
from rota.store.sqlite.faults import faults
from rota.store.sqlite.line import Line

_MODE_TRIES: Final = 100
_MODE_PAUSE: Final = 0.05


def check(path: Path) -> None:
    """Raise `SchemaOutOfDate` unless every migration of this version has been applied.

    A file that has more of them belongs to a newer version, and works (R8.6).
    """
    sqlite_version()
    newest = migrations("sqlite")[-1]
    if not path.exists():
        raise SchemaOutOfDate(f"{path} does not exist yet; run `rota migrate`")
    with faults(path):
        connection = connect(path)
        try:
            if newest.number > _applied(connection):
                raise SchemaOutOfDate(
                    f"{path} lacks the migration {newest.name!r}; run `rota migrate`"
                )
        finally:
            connection.close()


def migrate(path: Path) -> list[str]:
    """Make the file if there is none, and apply the migrations that it lacks; return their names.

    Several processes may do so at once: the lock that a migration needs makes the others wait,
    and they then find it applied.
    """
    sqlite_version()
    with faults(path):
        connection = connect(path, create=True)
        try:
            _write_ahead(connection)
        finally:
            connection.close()
    line = Line(path)
    try:
        return [step.name for step in migrations("sqlite") if _apply(line, step)]
    finally:
        line.close()


def _write_ahead(connection: apsw.Connection) -> None:
    # The change of mode does not wait for others as other writes do.
    pause = Event()
    for left in reversed(range(_MODE_TRIES)):
        try:
            connection.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if not left:
                raise
            pause.wait(_MODE_PAUSE)
        else:
            return


def _apply(line: Line, step: Migration) -> bool:
    with line.transaction() as connection:
        if step.number <= _applied(connection):
            return False
        connection.execute(step.sql)
        connection.execute(
            "insert into migration (number, name, applied_at) values (?, ?, ?)",
            (step.number, step.name, wall()),
        )
    return True


def _applied(connection: apsw.Connection) -> int:
    """Return the number of the newest migration that has been applied, 0 if there is none."""
    there = "select exists (select 1 from sqlite_schema where name = 'migration')"
    if not connection.execute(there).get:
        return 0
    return int(connection.execute("select coalesce(max(number), 0) from migration").get)
