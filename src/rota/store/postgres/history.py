"""The days of history: a partition for each, made ahead and dropped whole when its time is over.

Days are those of UTC. What finishes on a day without a partition lies in `finished_default`, so
nothing ever fails for the lack of one.
"""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

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
TRIES: Final = 5
"""So often a change is tried; each time it waits 30 ms for its locks, and who comes meanwhile waits
behind it, no longer."""
PAUSE_SECONDS: Final = 0.2
COUNTED_MOST: Final = 100_000
"""A day with more tasks than this is not counted when it goes; its statistics tell enough."""


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
            bounds = {"since": day.begin, "until": day.end}
            await _patiently(line, "make_day", day=day.partition, moved_most=MOVED_MOST, **bounds)


async def drop(line: Line, day: Day) -> int:
    """Drop a day's partition with all that is in it; return how many tasks that were."""
    return int(await _patiently(line, "drop_day", day=day.partition, counted_most=COUNTED_MOST))


async def _patiently(line: Line, change: str, **values: Any) -> Any:
    """Make a change in spite of others who use the tables; `InTheWay` if they leave no room."""
    for tries in range(TRIES):
        if tries:
            await asyncio.sleep(PAUSE_SECONDS)
        with suppress(InTheWay):
            return await line.run(partial(_briefly, change, values))
    raise InTheWay


async def _briefly(change: str, values: dict[str, Any], connection: Connection) -> Any:
    # One statement, which the server carries through and commits: others wait for the change once
    # it has its locks, and must not wait for a process that was stopped in the middle of it.
    try:
        return await fetch_value(connection, change, **values)
    except driver().LockNotAvailableError:
        raise InTheWay from None
