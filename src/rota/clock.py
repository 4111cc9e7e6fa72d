"""Time, ids and chance: the only file that reads the system's clock or its randomness.

Instants are whole microseconds since 1970 UTC (`Micros`); nothing that is stored is local time.
Waits are measured on the monotonic clock, so a step of the wall clock neither stretches nor cuts
them (cases B164, B166). All nodes share one time: a node's clock is its own monotonic clock plus
the measured offset of the store's clock.
"""

import asyncio
import os
import random
import threading
import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Protocol

from rota.config import SECOND

Micros = int
"""An instant (since 1970 UTC) or a duration, in whole microseconds."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

Rng = random.Random
"""A source of chance that is handed in, so that tests can seed it."""

LONGEST_WAIT = 60.0
"""No wait is longer than this many seconds; the clock is read again after it (case B040)."""


def micros(instant: datetime) -> Micros:
    """Return an aware instant as microseconds since 1970 UTC, exactly.

    >>> micros(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000
    """
    return (instant - _EPOCH) // _MICROSECOND


def instant(value: Micros) -> datetime:
    """Return microseconds since 1970 UTC as an aware `datetime`.

    >>> instant(1_000_000).isoformat()
    '1970-01-01T00:00:01+00:00'
    """
    return _EPOCH + timedelta(microseconds=value)


def give_way() -> None:
    """Let another thread of this process run, if one wants to.

    A thread that computes keeps Python's lock for 5 ms at a time; one that waits for an answer
    from a store would get on that much later at each step.
    """
    time.sleep(0)


class Clock(Protocol):
    """The time of a node."""

    def now(self) -> Micros:
        """Return the present instant on the store's clock."""
        ...

    def monotonic(self) -> float:
        """Return seconds on a clock that only moves forward; for waits, never stored."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for this many seconds, at most `LONGEST_WAIT`."""
        ...

    def observe(self, store_time: Micros, received: float) -> None:
        """Take in a reading of the store's clock that had arrived at `received` (monotonic)."""
        ...


class SystemClock:
    """A node's clock: its monotonic clock plus the offset of the store's clock.

    A reading that arrives at monotonic time r shows the store's clock of a moment before r, so
    `reading - r` is never more than the true offset. The largest of the recent ones is used: the
    node's time never runs ahead of the store's, and no task starts early because of it (R2.3).
    A jump of over a second is believed when three readings in a row agree on it, so one bad
    reading moves nothing.
    """

    _JUMP = SECOND
    _AGREEING = 3

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._offset = time.time_ns() // 1000 - time.monotonic_ns() // 1000
        self._measured = False
        self._doubts = 0

    def now(self) -> Micros:
        return time.monotonic_ns() // 1000 + self._offset

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(max(seconds, 0.0), LONGEST_WAIT))

    def observe(self, store_time: Micros, received: float) -> None:
        offset = store_time - int(received * SECOND)
        with self._lock:
            drift = offset - self._offset
            if not self._measured:
                self._offset, self._measured = offset, True
            elif abs(drift) <= self._JUMP:
                # A later, slower answer says less; let the estimate sink a little so that a
                # clock which really runs slower is followed too.
                self._offset += drift if drift > 0 else max(drift, -1000)
                self._doubts = 0
            else:
                self._doubts += 1
                if self._doubts >= self._AGREEING:
                    self._offset, self._doubts = offset, 0


class ManualClock:
    """A clock for tests that stands still until it is moved.

    >>> clock = ManualClock(1_000_000)
    >>> clock.advance(2.5)
    >>> clock.now()
    3500000
    """

    def __init__(self, now: Micros = 1_800_000_000 * SECOND) -> None:
        self._now = now
        self._monotonic = 1000.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> Micros:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Move both clocks forward and wake whoever waited for less."""
        self._now += round(seconds * SECOND)
        self._monotonic += seconds
        due = [s for s in self._sleepers if s[0] <= self._monotonic]
        self._sleepers = [s for s in self._sleepers if s[0] > self._monotonic]
        for _, future in due:
            if not future.done():
                future.set_result(None)

    def step_wall(self, seconds: float) -> None:
        """Move the wall clock alone, as an administrator or a time service may."""
        self._now += round(seconds * SECOND)

    async def sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._monotonic + min(max(seconds, 0.0), LONGEST_WAIT), future))
        await future

    def observe(self, store_time: Micros, received: float) -> None:
        """Leave the clock as it is: a test sets it."""


class Ids:
    """Makes task and session ids: UUIDs of version 7, which sort by the time of their birth.

    Ids of one process are strictly increasing, also when the clock steps back.
    """

    _BLOCK = 4096

    def __init__(self, rng: Rng | None = None) -> None:
        self._rng = rng or Rng(os.urandom(32))
        self._lock = threading.Lock()
        self._last = 0

    def new(self, now: Micros) -> str:
        """Return a new id in its usual text form, 36 characters."""
        text = _id_text(self._start(now, 1))
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def many(self, now: Micros, count: int) -> list[str]:
        """Return `count` new ids in rising order."""
        start = self._start(now, count)
        head, low = _id_head(start), start & _LOW
        if low + count * self._BLOCK > _LOW:  # the lower part runs over within these ids
            values = (start + n * self._BLOCK for n in range(count))
            return [f"{_id_head(value)}-{_id_tail(value & _LOW)}" for value in values]
        return [f"{head}-{_id_tail(low + n * self._BLOCK)}" for n in range(count)]

    def _start(self, now: Micros, count: int) -> int:
        # 48 bits of milliseconds, then 74 bits that start at random and only rise: two of
        # version, two of variant are set in between by spreading them over the text form.
        with self._lock:
            start = max((now // 1000) << 74 | self._rng.getrandbits(73), self._last + 1)
            self._last = start + count * self._BLOCK
        return start


_LOW = (1 << 62) - 1


def _id_text(value: int) -> str:
    high = value >> 62
    spread = (high >> 12) << 80 | 7 << 76 | (high & 0xFFF) << 64 | 1 << 63 | value & _LOW
    return f"{spread:032x}"


def _id_head(value: int) -> str:
    high = value >> 62
    text = f"{high >> 12:012x}"
    return f"{text[:8]}-{text[8:]}-7{high & 0xFFF:03x}"


def _id_tail(low: int) -> str:
    text = f"{low | 1 << 63:016x}"
    return f"{text[:4]}-{text[4:]}"


def parse_id(text: str) -> str | None:
    """Return an id in its usual form whatever way it was written, or None if it is none.

    >>> parse_id("0193F2A17C5E7D3A9B1F2F6F3C1E8A44")
    '0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44'
    """
    try:
        return str(uuid.UUID(text.strip()))
    except ValueError:
        return None


def born(task_id: str) -> Micros:
    """Return when an id was made, to the millisecond.

    >>> born("0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44")
    1734942489694000
    """
    return (uuid.UUID(task_id).int >> 80) * 1000


def new_rng(seed: int | None = None) -> Rng:
    """Return a source of chance; from the system's entropy unless a seed is given."""
    return Rng(os.urandom(32) if seed is None else seed)


def entropy(count: int) -> bytes:
    """Return so many bytes of the system's own chance: for secrets, which no seed may foretell."""
    return os.urandom(count)


def wall() -> Micros:
    """Return the wall clock of this machine: the store's clock where the store is a local file."""
    return time.time_ns() // 1000


def lap() -> float:
    """Return seconds that only go forward: how long real work took, never when it was."""
    return time.perf_counter()
