"""Settings and limits, and how much of what they bound there is."""

from collections.abc import Sequence

from rota.model import Micros
from rota.shares import AnySettings, Depth, Limit, LimitUse, Settings
from rota.store import share_rows
from rota.store.postgres.faults import driver
from rota.store.postgres.statements import Connection, execute, fetch


async def settings(connection: Connection) -> Settings:
    """Return all settings and limits."""
    (row,) = await fetch(connection, "settings")
    return share_rows.settings_of(*row)


async def put_settings(connection: Connection, new: AnySettings, version: int) -> bool:
    """Store settings in the place of those with this version; say whether."""
    given = share_rows.key(new) | {"body": share_rows.body(new), "old_version": version}
    return await execute(connection, "put_settings", **given) > 0


async def drop_settings(connection: Connection, old: AnySettings) -> bool:
    """Forget settings; say whether they were there."""
    given = share_rows.key(old) | {"old_version": old.version}
    return await execute(connection, "drop_settings", **given) > 0


async def put_limit(connection: Connection, limit: Limit, version: int) -> bool:
    """Store a limit in the place of the one with this version; say whether."""
    given = share_rows.columns(limit) | {"old_version": version}
    try:
        return await execute(connection, "put_limit", **given) > 0
    except driver().UniqueViolationError:
        # Its new scope has another one.
        return False


async def drop_limit(connection: Connection, limit_id: str) -> bool:
    """Remove a limit; say whether it was there."""
    return await execute(connection, "drop_limit", id=limit_id) > 0


async def limit_use(
    connection: Connection, limit_ids: Sequence[str], now: Micros
) -> list[LimitUse]:
    """Return how much of limits is in use."""
    rows = await fetch(connection, "limit_use", ids=limit_ids)
    running = ((share_rows.limit_of(limit), number) for limit, number in rows)
    return share_rows.uses(running, limit_ids, now)


async def depths(
    connection: Connection, queues: Sequence[str], tenants: Sequence[str], cap: int
) -> tuple[list[Depth], list[Depth]]:
    """Count the ready tasks that wait, by queue and by tenant."""
    return (
        await _depths(connection, "queue_depths", queues, cap),
        await _depths(connection, "tenant_depths", tenants, cap),
    )


async def _depths(
    connection: Connection, block: str, names: Sequence[str], cap: int
) -> list[Depth]:
    if not names:
        return []
    rows = await fetch(connection, block, names=names, cap=cap)
    return [Depth(name, row[0]) for name, row in zip(names, rows, strict=True)]


async def queues_with_work(connection: Connection, limit: int) -> list[str]:
    """Return the queues that have a ready task, by name."""
    return [row[0] for row in await fetch(connection, "queues_with_work", limit=limit)]
