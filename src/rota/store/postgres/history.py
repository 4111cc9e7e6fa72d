"""The days of history: a partition for each, made ahead and dropped whole when its time is over.

Days are those of UTC. What finishes on a day without a partition lies in `finished_default`, so
nothing ever fails for the lack of one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Final

from msgspec import Struct

from rota.clock import instant
from rota.config import DAY
from rota.model import Micros
from rota.store.postgres.connections import Line
from rota.store.postgres.faults import driver
from rota.store.postgres.statements import Connection, fetch, fetch_value

AHEAD: Final = 3
"""So many days after today have their partitions already; the makers may be away that long."""
MOVED_MOST: Final = 2_000
"""With more than this in the way a day's partition is not made: moving it would hold up others."""
LOCK_TIMEOUT: Final = "30ms"
"""So long a change waits for its locks; whoever comes meanwhile waits behind it, and no longer."""
TRIES: Final = 5
PAUSE_SECONDS: Final = 0.2
COUNTED_MOST: Final = 100_000
"""A day with more tasks than this is not counted when it goes; its statistics tell enough."""

_Change = Callable[[Connection, "Day"], Awaitable[int | None]]

_MAKER: Final = 0x726F7462
"""The advisory lock of whoever makes or drops partitions; others leave it to them."""


class InTheWay(Exception):
    """Somebody uses the tables for so long that a change of them has to wait for another time."""


class Day(Struct, frozen=True):
    """A day of UTC and its partition, by the instant that it begins at."""

    begin: Micros

    @classmethod
    def of(cls, at: Micros) -> "Day":
        """Return the day that an instant lies in."""
        return cls(at - at % DAY)

    @classmethod
    def named(cls, partition: str) -> "Day":
        """Return the day of a partition.

        >>> Day.named("finished_19700102").begin // DAY
        1
        """
        begin = datetime.strptime(partition, "finished_%Y%m%d").replace(tzinfo=UTC)
        return cls.of(int(begin.timestamp()) * 1_000_000)

    @property
    def end(self) -> Micros:
        """Return the instant at which the next day begins."""
        return self.begin + DAY

    @property
    def partition(self) -> str:
        """Return the name of the day's partition."""
        return f"finished_{instant(self.begin):%Y%m%d}"


async def days(line: Line) -> list[Day]:
    """Return the days that have a partition, the earliest first."""
    rows = await line.run(lambda connection: fetch(connection, "history_days"))
    return [Day.named(row[0]) for row in rows]


async def make_ahead(line: Line, known: list[Day], now: Micros) -> None:
    """Make what is missing of the partitions for today and the next days."""
    today = Day.of(now)
    for n in range(AHEAD + 1):
        day = Day(today.begin + n * DAY)
        if day not in known:
            await _patiently(line, _make, day)


async def drop(line: Line, day: Day) -> int:
    """Drop a day's partition with all that is in it; return how many tasks that were."""
    return await _patiently(line, _drop, day) or 0


async def _patiently(line: Line, change: _Change, day: Day) -> int | None:
    """Make a change in spite of others who use the tables; `InTheWay` if they leave no room."""
    for tries in range(TRIES):
        if tries:
            await asyncio.sleep(PAUSE_SECONDS)
        with suppress(InTheWay):
            return await line.run(partial(_briefly, change, day))
    raise InTheWay


async def _briefly(change: _Change, day: Day, connection: Connection) -> int | None:
    try:
        async with connection.transaction():
            if not await fetch_value(connection, "one_maker", key=_MAKER):
                return None
            await connection.execute(f"set local lock_timeout = '{LOCK_TIMEOUT}'")
            # Everyone waits for the change once it has its locks; nobody for a maker gone silent.
            await connection.execute("set local idle_in_transaction_session_timeout = '1s'")
            return await change(connection, day)
    except driver().LockNotAvailableError:
        raise InTheWay from None


async def _make(connection: Connection, day: Day) -> int | None:
    if await _is_there(connection, day):
        return None
    bounds = {"since": day.begin, "until": day.end}
    strays = await fetch_value(connection, "strays", **bounds, limit=MOVED_MOST + 1)
    if strays > MOVED_MOST:
        return None
    name = day.partition
    await connection.execute(f"create table rota.{name} (like rota.finished including all)")
    # Only this lock and the next one are felt by others, and to attach takes both.
    await connection.execute("lock table rota.finished_default in access exclusive mode")
    await connection.execute(
        f"with strays as (delete from rota.finished_default "  # noqa: S608 - a name of ours
        f"where finished_at >= $1 and finished_at < $2 returning *) "
        f"insert into rota.{name} select * from strays",
        day.begin,
        day.end,
    )
    await connection.execute(
        f"alter table rota.finished attach partition rota.{name} "
        f"for values from ({day.begin}) to ({day.end})"
    )
    return 0


async def _drop(connection: Connection, day: Day) -> int | None:
    if not await _is_there(connection, day):
        return None
    name = f"rota.{day.partition}"
    some = f"select from {name} limit {COUNTED_MOST}"
    gone = await connection.fetchval(f"select count(*) from ({some}) as counted")  # noqa: S608
    if gone == COUNTED_MOST:
        known = "select reltuples::bigint from pg_class where oid = $1::regclass"
        gone = max(gone, await connection.fetchval(known, name))
    await connection.execute(f"drop table {name}")
    return int(gone)


async def _is_there(connection: Connection, day: Day) -> bool:
    found = await connection.fetchval("select to_regclass($1)", f"rota.{day.partition}")
    return found is not None
