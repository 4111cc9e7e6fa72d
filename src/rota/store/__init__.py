"""The stores: where everything lies that a crash may not lose.

`store_for` chooses by address; what a store promises is written in `rota.store.base`.
"""

import re
from pathlib import Path
from urllib.parse import urlsplit

from rota.errors import ConfigurationError
from rota.store.base import Store

_SECRET = re.compile(r"(\w*password)=[^&]*", re.IGNORECASE)


def store_for(url: str) -> Store:
    """Return the store at an address, not yet open; `ConfigurationError` if it is none.

    `sqlite:///file.db` (relative), `sqlite:////var/lib/file.db` (absolute), or
    `postgresql://user@host/database`.
    """
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        path = rest.removeprefix("/")
        if not path or rest == path:
            raise ConfigurationError(
                "a SQLite address is sqlite:///file.db, or sqlite:////path/file.db from the root"
            )
        from rota.store.sqlite import SQLiteStore

        return SQLiteStore(Path(path))
    if scheme in ("postgresql", "postgres"):
        from rota.store.postgres import PostgresStore

        return PostgresStore(url)
    raise ConfigurationError(
        f"{masked(url)!r} is no address of a store; give sqlite:///file.db or postgresql://…"
    )


def masked(url: str) -> str:
    """Return an address that can be shown: without its password.

    >>> masked("postgresql://rota:secret@db/rota")
    'postgresql://rota:…@db/rota'
    >>> masked("postgresql://db/rota?user=rota&password=secret")
    'postgresql://db/rota?user=rota&password=…'
    >>> masked("sqlite:///a.db"), masked("sqlite:////var/a.db")
    ('sqlite:///a.db', 'sqlite:////var/a.db')
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return f"{url.partition('://')[0]}://…"
    query = _SECRET.sub(r"\1=…", parts.query)
    login, _, host = parts.netloc.rpartition("@")
    netloc = parts.netloc if parts.password is None else f"{login.split(':')[0]}:…@{host}"
    if "://" not in url:
        return url
    # Not by `geturl`: it takes two of the three slashes from an address without a host.
    return f"{parts.scheme}://{netloc}{parts.path}{f'?{query}' if query else ''}"
