"""The schema: brings it up to date, and says whether it is."""

from rota.errors import ConfigurationError, SchemaOutOfDate
from rota.store.postgres.statements import Connection, fetch_value
from rota.store.sqlfiles import Migration, migrations

_OLDEST = 14
"""The oldest PostgreSQL that has what the statements use."""
_LOCK = 0x726F7461
"""The advisory lock under which migrations run: "rota" in ASCII."""
_LOCK_SECONDS = 10
"""How long a migration waits for a table that others use, while new users queue up behind it."""


async def migrate(connection: Connection) -> list[str]:
    """Apply what is missing, each migration in one transaction with its record."""
    await _refuse_unfit(connection)
    return [
        migration.name
        for migration in migrations("postgres")
        if await _applied(connection, migration)
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


async def _applied(connection: Connection, migration: Migration) -> bool:
    async with connection.transaction():
        await connection.execute("select pg_advisory_xact_lock($1)", _LOCK)
        if await newest(connection) >= migration.number:
            return False
        await connection.execute(f"set local lock_timeout = '{_LOCK_SECONDS}s'")
        await connection.execute(migration.sql)
        await connection.execute(
            "insert into rota.migration (number, name, applied_at) values ($1, $2, $3)",
            migration.number,
            migration.name,
            await fetch_value(connection, "read_clock"),
        )
    return True


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
