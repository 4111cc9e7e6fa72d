"""Turns what asyncpg raises into the errors of Rota, in one place."""

from types import ModuleType

from rota.errors import (
    ConfigurationError,
    RotaError,
    SchemaOutOfDate,
    StoreError,
    StoreFull,
    StoreUnavailable,
)

_SERIALIZATION_FAILURE = "40001"
_DEADLOCK = "40P01"
_DISK_FULL = "53100"
_CHECK_VIOLATION = "23514"
_NO_DAY = "finished_default"
"""History was about to go there when the partition for its day was made."""
_NOT_THERE = {
    "3F000",  # schema
    "42P01",  # table
    "42703",  # column
    "42883",  # function
}
_OUT_OF_REACH = {
    "25006",  # a standby that only reads: the primary is elsewhere by now
    "55P03",  # lock_timeout
    "57014",  # statement_timeout
    "57P01",  # shut down by an administrator
    "57P02",  # crashed
    "57P03",  # starting up or shutting down
    "57P05",  # idle session ended
    "25P03",  # idle transaction ended
    "25P04",  # transaction_timeout
}
_SET_UP_CLASSES = {
    "28",  # the login was refused
    "3D",  # there is no such database
}
_OUT_OF_REACH_CLASSES = {
    "08",  # connection
    "53",  # out of connections or memory; a full disk is told apart before
}


def driver() -> ModuleType:
    """Return asyncpg, which is an optional part; `ConfigurationError` says how to get it."""
    try:
        import asyncpg
    except ImportError:
        raise ConfigurationError(
            "the PostgreSQL store needs asyncpg: pip install 'rota[postgres]'"
        ) from None
    module: ModuleType = asyncpg
    return module


def driver_errors() -> tuple[type[BaseException], ...]:
    """Return what may come out of a call to asyncpg apart from mistakes in our own code."""
    asyncpg = driver()
    # The third is raised by a connection that the server has just ended.
    return (
        asyncpg.PostgresError,
        asyncpg.InterfaceError,
        asyncpg.InternalClientError,
        OSError,
        TimeoutError,
    )


def repeatable(error: BaseException) -> bool:
    """Say whether the same work may well succeed if it is simply done again."""
    code = getattr(error, "sqlstate", None)
    if code in (_SERIALIZATION_FAILURE, _DEADLOCK):
        return True
    if code == _CHECK_VIOLATION and getattr(error, "table_name", None) == _NO_DAY:
        return True
    return isinstance(error, driver().exceptions.InvalidCachedStatementError)


def translated(error: BaseException, reached: bool) -> RotaError:
    """Return the error of Rota that an error of the driver amounts to.

    `reached` says that the set-up was right once: a refused login is then a matter of time.
    """
    code = getattr(error, "sqlstate", None)
    text = str(error) or type(error).__name__
    if code is None:
        if isinstance(error, ValueError):
            return StoreError(f"PostgreSQL cannot take a value: {text}")
        return StoreUnavailable(f"no connection to PostgreSQL: {text}")
    if code == _DISK_FULL:
        return StoreFull(f"PostgreSQL has no room left on its disk: {text}")
    if code in _NOT_THERE:
        return SchemaOutOfDate(
            f"PostgreSQL lacks a part of the schema ({text}); run `rota migrate`"
        )
    if code in _OUT_OF_REACH or code[:2] in _OUT_OF_REACH_CLASSES:
        return StoreUnavailable(f"PostgreSQL is out of reach: {text}")
    if code[:2] in _SET_UP_CLASSES:
        kind = StoreUnavailable if reached else ConfigurationError
        return kind(f"PostgreSQL refuses the connection: {text}")
    return StoreError(f"PostgreSQL refused: {text} ({code})")
