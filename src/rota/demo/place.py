"""Where the demo happens: its folder and its store."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from rota.contrib.embedded import EmbeddedPostgres
from rota.errors import ConfigurationError


@contextmanager
def folder(wanted: Path | None) -> Iterator[Path]:
    """Give a folder for the demo's files: the wanted one, or one that is removed afterwards."""
    if wanted is None:
        # Whoever still writes there at the end must not turn a good run into an error.
        with tempfile.TemporaryDirectory(prefix="rota-demo-", ignore_cleanup_errors=True) as name:
            yield Path(name)
        return
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        empty = not any(wanted.iterdir())
    except OSError as error:
        raise ConfigurationError(f"the demo cannot use {wanted}: {error}") from None
    if not empty:
        raise ConfigurationError(f"{wanted} is not empty; give the demo a folder of its own")
    yield wanted.resolve()


@contextmanager
def store(wanted: str, directory: Path) -> Iterator[str]:
    """Give the address of the store: a file, a PostgreSQL of the demo's own, or a named one."""
    if wanted == "sqlite":
        yield f"sqlite:///{directory / 'rota.db'}"
    elif wanted == "postgres":
        if find_spec("asyncpg") is None:
            raise ConfigurationError(
                "an embedded PostgreSQL needs an extra: pip install 'rota[embedded]'"
            )
        with EmbeddedPostgres() as server:
            yield server.url
    else:
        yield wanted


def store_name(wanted: str) -> str:
    """Return what kind of store it is, for people."""
    if wanted == "sqlite":
        return "SQLite"
    return "an embedded PostgreSQL" if wanted == "postgres" else "PostgreSQL"
