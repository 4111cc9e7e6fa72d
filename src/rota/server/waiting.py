"""Claims that wait for work: all of a server process share one line for news (R8.4, R2.4).

Who waits asks the store nothing. At news the first of each line of like claims looks; only if it
found something the next one does. So a hint costs one look a line and one a claim that is filled.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import contextmanager

from rota.backend import Backend
from rota.config import SECOND
from rota.errors import StoreError
from rota.model import Micros

log = logging.getLogger("rota.server")

POLL = 1.0
"""Without any news the first of each line looks this often: the truth behind the hints."""
SOONEST = 0.01
LISTEN_AGAIN = 1.0


class Waiting:
    """The claims that wait in this server process, and those that listen to hints."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._clock = backend.clock
        self._lines: dict[Hashable, _Line] = {}
        self._hearers: set[Callable[[Micros | None], None]] = set()
        self.over = asyncio.Event()
        self.waiting = 0
        """How many claims wait."""

    def stop(self) -> None:
        """Let everybody go: the server drains."""
        self.over.set()

    async def run(self) -> None:
        """Listen for news and look without any, until cancelled."""
        polling = asyncio.ensure_future(self._poll())
        try:
            while True:
                try:
                    await self._backend.listen(self.heard)
                except StoreError as error:
                    log.warning("not listening for work (%s); polling meanwhile", error)
                await self._clock.sleep(LISTEN_AGAIN)
        finally:
            polling.cancel()

    async def _poll(self) -> None:
        while True:
            await self._clock.sleep(POLL)
            self._news()

    def heard(self, at: Micros | None) -> None:
        """Take in a hint."""
        for hear in tuple(self._hearers):
            hear(at)
        if at is None or at <= 0:
            self._news()

    def _news(self) -> None:
        for line in tuple(self._lines.values()):
            line.news()

    @contextmanager
    def place(self, like: Hashable) -> Iterator["Spot"]:
        """Stand in the line of claims that look for the same."""
        line = self._lines.get(like)
        if line is None:
            line = self._lines[like] = _Line()
        spot = Spot(self, line)
        line.spots[spot] = None
        self.waiting += 1
        try:
            yield spot
        finally:
            self.waiting -= 1
            del line.spots[spot]
            if line.looking is spot:
                line.done(found=True)  # it left without a look: the next one has to
            if not line.spots:
                line.close()
                if self._lines.get(like) is line:
                    del self._lines[like]

    async def hints(
        self, ends: "asyncio.Future[None]", quiet: float
    ) -> AsyncIterator[Micros | None]:
        """Yield hints until something `ends` it or the server drains; -2 where all is quiet."""
        news = asyncio.Event()
        said: dict[bool, Micros | None] = {False: None}

        def hear(at: Micros | None) -> None:
            later = at is not None and at > 0
            before = said.get(later, at)
            said[later] = None if at is None or before is None else min(at, before)
            news.set()

        self._hearers.add(hear)
        over = asyncio.ensure_future(self.over.wait())
        try:
            while not ends.done() and not over.done():
                for at in tuple(said.values()):
                    yield at
                said.clear()
                news.clear()
                coming = asyncio.ensure_future(news.wait())
                await asyncio.wait(
                    (coming, ends, over), timeout=quiet, return_when=asyncio.FIRST_COMPLETED
                )
                coming.cancel()
                if not said:
                    yield QUIET
        finally:
            self._hearers.discard(hear)
            over.cancel()

    def look_at(self, line: "_Line", at: Micros) -> None:
        """Have the first of a line look at an instant, when a limit lets more through."""
        wait = max((at - self._clock.now()) / SECOND, SOONEST)
        if wait < POLL:
            line.later(asyncio.ensure_future(self._clock.sleep(wait)))


QUIET: Micros = -2
"""No hint, but a sign that the line still holds."""


class _Line:
    """Claims that look for the same work, in the order in which they came."""

    def __init__(self) -> None:
        self.spots: dict[Spot, None] = {}
        self.looking: Spot | None = None
        self._again = False
        self._timer: asyncio.Future[None] | None = None

    def news(self) -> None:
        """Have one of them look; one that looks already may look again."""
        if self.looking is not None:
            self._again = True
        elif self.spots:
            self.looking = next(iter(self.spots))
            self.looking.turn.set()

    def done(self, *, found: bool) -> None:
        """Take note that the one whose turn it was has looked."""
        looked, self.looking = self.looking, None
        if self._again or found:
            self._again = False
            following = (spot for spot in self.spots if spot is not looked or not found)
            if (first := next(following, None)) is not None:
                self.looking = first
                first.turn.set()

    def later(self, timer: "asyncio.Future[None]") -> None:
        """Take note of a time at which it is worth to look."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = timer
        timer.add_done_callback(lambda ended: None if ended.cancelled() else self.news())

    def close(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()


class Spot:
    """One claim's place in its line; `turn` is set when it is to look."""

    def __init__(self, waiting: Waiting, line: _Line) -> None:
        self._waiting = waiting
        self._line = line
        self.turn = asyncio.Event()

    def looked(self, *, found: bool, again_at: Micros | None) -> None:
        """Take note of what a look has found."""
        self.turn.clear()
        if self._line.looking is self:
            self._line.done(found=found)
        if again_at is not None and not found:
            self._waiting.look_at(self._line, again_at)
