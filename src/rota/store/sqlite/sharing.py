"""Settings and limits, and how much of what they bound there is."""

from collections import Counter
from collections.abc import Iterator, Sequence

import apsw

from rota.model import Micros
from rota.shares import AnySettings, Depth, Limit, LimitUse, Settings
from rota.store import share_rows
from rota.store.sqlfiles import blocks
from rota.store.sqlite.rows import ids_in, to_json

_SQL = blocks("sqlite")


def settings(connection: apsw.Connection) -> Settings:
    """Return all settings and limits."""
    ((version, rows, limits),) = connection.execute(_SQL["settings"])
    return share_rows.settings_of(version, rows, limits)


def version(connection: apsw.Connection) -> int:
    """Return the version of the settings."""
    found: int = connection.execute(_SQL["settings_version"]).get
    return found


def put_settings(connection: apsw.Connection, new: AnySettings, old_version: int) -> bool:
    """Store settings in the place of those with this version; say whether."""
    given = share_rows.key(new) | {"body": share_rows.body(new), "old_version": old_version}
    connection.execute(_SQL["put_settings"], given)
    return _counted(connection)


def drop_settings(connection: apsw.Connection, old: AnySettings) -> bool:
    """Forget settings; say whether they were there."""
    connection.execute(_SQL["drop_settings"], share_rows.key(old) | {"old_version": old.version})
    return _counted(connection)


def put_limit(connection: apsw.Connection, limit: Limit, old_version: int) -> bool:
    """Store a limit in the place of the one with this version; say whether."""
    given = share_rows.columns(limit) | {"old_version": old_version}
    connection.execute(_SQL["put_limit"], given)
    return _counted(connection)


def drop_limit(connection: apsw.Connection, limit_id: str) -> bool:
    """Remove a limit; say whether it was there."""
    connection.execute(_SQL["drop_limit"], {"id": limit_id})
    return _counted(connection)


def _counted(connection: apsw.Connection) -> bool:
    changed = connection.changes() > 0
    if changed:
        connection.execute(_SQL["raise_version"])
    return changed


def running(connection: apsw.Connection, limit_ids: Sequence[str]) -> Iterator[tuple[Limit, int]]:
    """Return limits, each with how many tasks run under it."""
    scopes: Counter[tuple[str | None, str | None]] = Counter()
    for queue, tenant, number in connection.execute(_SQL["running"]):
        for scope in ((queue, None), (None, tenant), (queue, tenant)):
            scopes[scope] += number
    for (row,) in connection.execute(_SQL["limit_use"], {"ids": to_json(limit_ids)}):
        limit = share_rows.limit_of(row)
        yield limit, scopes[limit.queue, limit.tenant]


def limit_use(connection: apsw.Connection, limit_ids: Sequence[str], now: Micros) -> list[LimitUse]:
    """Return how much of limits is in use."""
    return share_rows.uses(running(connection, limit_ids), limit_ids, now)


def depths(
    connection: apsw.Connection, queues: Sequence[str], tenants: Sequence[str], cap: int
) -> tuple[list[Depth], list[Depth]]:
    """Count the ready tasks that wait, by queue and by tenant."""
    return (
        _depths(connection, "queue_depths", queues, cap),
        _depths(connection, "tenant_depths", tenants, cap),
    )


def _depths(connection: apsw.Connection, block: str, names: Sequence[str], cap: int) -> list[Depth]:
    if not names:
        return []
    rows = connection.execute(_SQL[block], {"names": to_json(names), "cap": cap})
    return [Depth(name, waiting) for name, (waiting,) in zip(names, rows, strict=True)]


def queues_with_work(connection: apsw.Connection, limit: int) -> list[str]:
    """Return the queues that have a ready task, by name."""
    return ids_in(connection.execute(_SQL["queues_with_work"], {"limit": limit}).get)
