"""One listener to events: what waits for it, and how its stream ends."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from typing import Any

from rota.server.caller import Caller
from rota.server.events_frames import View, event

FRAMES_MOST = 64
"""So many frames wait for a listener; of more it is told only that it missed some."""


class Listener:
    """Takes in frames at once and hands them out as its reader takes them.

    `admission` is what the key of its call was checked by, to check it again.
    """

    def __init__(
        self,
        caller: Caller,
        view: View,
        topics: frozenset[str],
        *,
        most: int | None = None,
        admission: tuple[Any, ...] = (),
    ) -> None:
        self.caller = caller
        self.view = view
        self.topics = topics
        self.admission = admission
        self._left = most
        self._waiting: deque[bytes] = deque()
        self._stirred = asyncio.Event()
        self._over = False
        self._beats = b""

    def put(self, frame: bytes, mark: str) -> None:
        """Hand on a frame; where too many wait, one that says so takes the place of all."""
        if self._over:
            return
        if len(self._waiting) >= FRAMES_MOST:
            self._waiting.clear()
            frame = event("reset", {"reason": "too_slow"}, mark)
        self._waiting.append(frame)
        self._stirred.set()

    def preload(self, frames: Iterable[bytes]) -> None:
        """Take in what was missed."""
        self._waiting += frames

    def beat(self, line: bytes) -> None:
        """Send a sign of life, unless something waits anyway."""
        if not self._waiting and not self._over:
            self._beats = line
            self._stirred.set()

    def end(self, last: bytes = b"") -> None:
        """Let the stream end, after one last frame."""
        if not self._over:
            self._over = True
            self._waiting.append(last)
            self._stirred.set()

    async def chunks(self, first: bytes) -> AsyncIterator[bytes]:
        """Yield what is to be sent until it is over; what waits together is sent together."""
        yield first
        while self._left is None or self._left > 0:
            if not self._waiting and not self._beats:
                if self._over:
                    return
                self._stirred.clear()
                await self._stirred.wait()
            chunk, self._beats = self._beats, b""
            count = len(self._waiting)
            count = count if self._left is None else min(self._left, count)
            for _ in range(count):
                chunk += self._waiting.popleft()
            if self._left is not None:
                self._left -= count
            if chunk:
                yield chunk
