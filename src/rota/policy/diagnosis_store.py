"""What is wrong with what a store runs on, judged by facts alone."""

import shlex
from collections.abc import Iterator

from rota.config import MINUTE, SECOND
from rota.diagnosis import File, Finding, Server, Severity

OLDEST = 140_000
"""PostgreSQL 14: the oldest that has what the statements use (R8.1)."""
LONG = 5 * MINUTE
"""A transaction that works for longer than this holds back the clean-up of dead rows."""
CONNECTIONS_SHARE = 0.9
DEAD_LEAST = 10_000
DEAD_SHARE = 2.0
"""Dead rows are told of from so many on, when they are so many times those that live."""
GIBIBYTE = 1024**3
MEBIBYTE = 1024**2
LOG_MOST = 128 * MEBIBYTE
"""The log of a SQLite file is cut back at half of this, unless a read holds that up."""
ROOM_LEAST = GIBIBYTE
ROOM_GONE = 100 * MEBIBYTE

_SETTINGS = {
    "synchronous_commit": (
        Severity.ERROR,
        "a crash of the server may lose tasks that were accepted",
    ),
    "fsync": (Severity.ERROR, "a crash of the machine may destroy the database"),
    "full_page_writes": (Severity.ERROR, "a crash of the machine may destroy the database"),
    "autovacuum": (Severity.WARNING, "dead rows pile up and every claim gets slower"),
    "track_counts": (Severity.WARNING, "autovacuum does not know where dead rows are"),
}


def of_server(server: Server) -> Iterator[Finding]:
    """Yield what is wrong with a PostgreSQL server."""
    if server.version < OLDEST:
        yield Finding(
            Severity.ERROR,
            "old_server",
            f"this is PostgreSQL {server.shown}; Rota needs 14 or newer",
            "move to a newer PostgreSQL",
            {"version": server.version},
        )
    for name, (severity, why) in _SETTINGS.items():
        if server.settings.get(name) == "off":
            yield Finding(
                severity,
                f"{name}_off",
                f"{name} is off: {why}",
                f"alter system set {name} = on; select pg_reload_conf()",
            )
    if server.connections >= server.connections_most * CONNECTIONS_SHARE:
        yield Finding(
            Severity.WARNING,
            "connections",
            f"{server.connections} of {server.connections_most} connections are in use",
            "put a pooler between (?pgbouncer=1), or raise max_connections",
            {"used": server.connections, "most": server.connections_most},
        )
    yield from _transactions(server)
    yield from _slots(server)
    yield from _tables(server)


def _transactions(server: Server) -> Iterator[Finding]:
    for open_ in server.transactions:
        idle = open_.state.startswith("idle in transaction")
        if not idle and open_.length < LONG:
            continue
        who = f"{open_.application or 'an unnamed program'} (pid {open_.pid})"
        does = "has sat idle in" if idle else "has been in"
        yield Finding(
            Severity.WARNING,
            "idle_in_transaction" if idle else "long_transaction",
            f"{who} {does} a transaction for {open_.length / SECOND:.0f} s: "
            "dead rows cannot be cleaned up meanwhile",
            f"end it where it began, or: select pg_terminate_backend({open_.pid})",
            {
                "pid": open_.pid,
                "application": open_.application,
                "age_s": round(open_.length / SECOND, 1),
            },
        )
    for prepared in server.prepared:
        if prepared.length >= LONG:
            yield Finding(
                Severity.WARNING,
                "prepared_transaction",
                f"the prepared transaction {prepared.name} is neither committed nor rolled back",
                "commit prepared 'NAME', or: rollback prepared 'NAME'",
                {"name": prepared.name, "age_s": round(prepared.length / SECOND, 1)},
            )


def _slots(server: Server) -> Iterator[Finding]:
    for slot in server.slots:
        if not slot.active:
            grave = slot.kept_bytes >= GIBIBYTE
            yield Finding(
                Severity.ERROR if grave else Severity.NOTE,
                "replication_slot",
                f"nobody reads replication slot {slot.name}; the server keeps "
                f"{slot.kept_bytes // MEBIBYTE} MiB of its log for it, and more with every write",
                "bring its reader back, or: select pg_drop_replication_slot('NAME')",
                {"slot": slot.name, "kept_bytes": slot.kept_bytes},
            )


def _tables(server: Server) -> Iterator[Finding]:
    for table in server.tables:
        if not table.autovacuum:
            yield Finding(
                Severity.WARNING,
                "table_autovacuum_off",
                f"autovacuum is off for rota.{table.name}",
                f"alter table rota.{table.name} reset (autovacuum_enabled)",
                {"table": table.name},
            )
        if table.dead >= DEAD_LEAST and table.dead > table.live * DEAD_SHARE:
            yield Finding(
                Severity.WARNING,
                "dead_rows",
                f"rota.{table.name} has {table.dead} dead rows beside {table.live} that live",
                f"look for long transactions first, then: vacuum rota.{table.name}",
                {"table": table.name, "dead": table.dead, "live": table.live},
            )


def of_file(file: File) -> Iterator[Finding]:
    """Yield what is wrong with a SQLite file."""
    if file.journal != "wal":
        yield Finding(
            Severity.ERROR,
            "journal_mode",
            f"the journal mode of {file.path} is {file.journal}, not wal: readers hold up writers",
            "rota migrate",
            {"journal": file.journal},
        )
    if file.log_bytes > LOG_MOST:
        yield Finding(
            Severity.WARNING,
            "log_size",
            f"the log {file.path}-wal has {file.log_bytes // MEBIBYTE} MiB: a program reads in a "
            "transaction that it does not end",
            "end that program: it is one of those that have the file open (lsof)",
            {"log_bytes": file.log_bytes},
        )
    if file.free_bytes < ROOM_LEAST:
        yield Finding(
            Severity.ERROR if file.free_bytes < ROOM_GONE else Severity.WARNING,
            "disk_room",
            f"the disk of {file.path} has {file.free_bytes // MEBIBYTE} MiB left",
            "make room, or move the file while nothing has it open",
            {"free_bytes": file.free_bytes, "bytes": file.bytes},
        )
    yield from _permissions(file)


def _permissions(file: File) -> Iterator[Finding]:
    others = file.mode & 0o066
    if others:
        writes = bool(others & 0o022)
        yield Finding(
            Severity.WARNING if writes else Severity.NOTE,
            "permissions",
            f"other users of this machine can {'write' if writes else 'read'} {file.path}",
            f"chmod 600 {shlex.quote(file.path)}",
            {"mode": f"{file.mode:o}"},
        )
