"""The schema: brings it up to date, and says whether it is."""

from functools import partial

from rota.errors import ConfigurationError, SchemaOutOfDate
from rota.store.postgres.connections import Line
from rota.store.postgres.faults import driver
from rota.store.postgres.statements import Connection, statement
from rota.store.sqlfiles import Migration, migrations

_OLDEST = 14
"""The oldest PostgreSQL that has what the statements use."""
_LOCK = 0x726F7461
"""The advisory lock under which migrations run: "rota" in ASCII."""
_LOCK_SECONDS = 10
"""How long a migration waits for a table that others use, while new users queue up behind it."""
_SILENT_SECONDS = 5
"""With a pooler beginning and end of a transaction are messages of their own; so long the server
waits for the last one."""
_APPLIED = "RT003"
"""The code by which a migration refuses to be applied again."""
_SCRIPT = """
select pg_advisory_xact_lock({lock});
select
    set_config('lock_timeout', '{seconds}s', true),
    set_config('idle_in_transaction_session_timeout', '{silent}s', true);
do $$
begin
    if to_regclass('rota.migration') is not null then
        if exists (select from rota.migration where number >= {number}) then
            raise exception using errcode = '{applied}', message = 'applied already';
        end if;
    end if;
end
$$;
{sql}
insert into rota.migration (number, name, applied_at)
values ({number}, '{name}', ({clock}));
"""


class _AppliedAlready(Exception):
    """Somebody else has applied the migration since we looked."""


async def migrate(line: Line) -> list[str]:
    """Apply what is missing, each migration in one transaction with its record."""
    await line.run(_refuse_unfit)
    there = await line.run(newest)
    return [
        migration.name
        for migration in migrations("postgres")
        if migration.number > there and await _applied(line, migration)
    ]


async def _refuse_unfit(connection: Connection) -> None:
    version = connection.get_server_version().major
    if version < _OLDEST:
        raise ConfigurationError(f"this is PostgreSQL {version}; Rota needs {_OLDEST} or newer")
    encoding = await connection.fetchval("show server_encoding")
    if encoding != "UTF8":
        raise ConfigurationError(
            f"the database has the encoding {encoding}, in which not every text can be kept; "
            "make another: create database rota encoding 'UTF8' template template0"
        )


async def _applied(line: Line, migration: Migration) -> bool:
    script = _SCRIPT.format(
        lock=_LOCK,
        seconds=_LOCK_SECONDS,
        silent=_SILENT_SECONDS,
        applied=_APPLIED,
        clock=statement("read_clock").sql,
        **migration._asdict(),
    )
    try:
        await line.run(partial(_carry_out, script))
    except _AppliedAlready:
        return False
    return True


async def _carry_out(script: str, connection: Connection) -> None:
    # In one message, which the server carries through and commits: whoever uses the tables waits
    # for it, and must not wait for a process that was stopped in the middle of it.
    try:
        await connection.execute(script)
    except driver().PostgresError as error:
        if error.sqlstate == _APPLIED:
            raise _AppliedAlready from None
        raise


async def newest(connection: Connection) -> int:
    """Return the number of the newest migration that was applied, 0 if none was."""
    if await connection.fetchval("select to_regclass('rota.migration')") is None:
        return 0
    number = await connection.fetchval("select max(number) from rota.migration")
    return number or 0


async def check(connection: Connection) -> None:
    """Refuse a schema that is older than this version needs; a newer one serves (R8.6)."""
    needed = migrations("postgres")[-1].number
    found = await newest(connection)
    if found < needed:
        state = f"is at {found}, this version needs {needed}" if found else "is missing"
        raise SchemaOutOfDate(f"the schema in PostgreSQL {state}; run `rota migrate`")
