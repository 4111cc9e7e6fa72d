"""Live changes for whoever listens to this server: one watcher, any number of listeners (R9.2).

The cost follows the changes and the views, not the listeners: each frame is encoded once for a view
and the same bytes are handed to all who have it.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable

from rota.clock import Rng
from rota.engine import Engine
from rota.engine.news import UNKNOWN, Paper, Window
from rota.errors import StoreError
from rota.figure_views import figures
from rota.figures import Figures
from rota.server.caller import Caller
from rota.server.events_frames import STATS, Frame, View, event
from rota.server.events_listener import Listener
from rota.server.problems import Problem

log = logging.getLogger("rota.server")

APART = 0.25
"""Frames of a topic are sent so many seconds apart at least."""
RING = 1_000
"""So many frames are kept for listeners that come back."""
BEAT = 15.0
AGAIN = 1.0
"""A watch that broke begins anew after so many seconds."""
STATS_EVERY = 1.0
BY_KEY = 20
IN_ALL = 500
"""So many streams may be open, of one key and in all."""


class Events:
    """What has changed, and who is told; belongs to one event loop."""

    def __init__(
        self, engine: Engine, rng: Rng, measured: Callable[[], Awaitable[Figures]]
    ) -> None:
        self.process = f"{rng.getrandbits(32):08x}"
        self.admit: Callable[..., Awaitable[Caller]] | None = None
        self.follows = True
        self._engine = engine
        self._measured = measured
        self._clock = engine.clock
        self._rng = rng
        self._views: dict[View, list[Listener]] = {}
        self._open: dict[str, int] = {}
        self._ring: deque[Frame] = deque(maxlen=RING)
        self._number = 0
        self._window = Window()
        self._stirred = asyncio.Event()
        self._working: list[asyncio.Task[None]] = []
        self._unhear: Callable[[], None] = lambda: None
        self._draining = False

    @property
    def listeners(self) -> int:
        """How many streams are open."""
        return sum(self._open.values())

    @property
    def mark(self) -> str:
        """The mark of the newest frame."""
        return f"{self.process}-{self._number}"

    # -- listeners ------------------------------------------------------------------------------

    def join(self, listener: Listener, after: str | None) -> bytes:
        """Let somebody listen; returns what it is sent first: what it missed, or that it must look.

        Whoever joins has to `leave`. `Problem` 429 if there are too many already.
        """
        if self._draining:
            raise Problem("shutting_down", "the server stops; come back in a few seconds")
        key = listener.caller.key_id
        if self._open.get(key, 0) >= BY_KEY or self.listeners >= IN_ALL:
            raise Problem(
                "too_many_streams",
                f"at most {BY_KEY} streams of a key and {IN_ALL} in all; share one, or close some",
                headers=(("Retry-After", "5"),),
            )
        first = self._missed(listener, after)
        self._watch()
        self._open[key] = self._open.get(key, 0) + 1
        self._views.setdefault(listener.view, []).append(listener)
        return first

    def leave(self, listener: Listener) -> None:
        """Forget a listener."""
        alike = self._views.get(listener.view, [])
        if listener not in alike:
            return
        alike.remove(listener)
        if not alike:
            del self._views[listener.view]
        key = listener.caller.key_id
        self._open[key] -= 1
        if not self._open[key]:
            del self._open[key]

    def _missed(self, listener: Listener, after: str | None) -> bytes:
        """Let a listener have what it missed, and return what it is sent before that.

        Its mark moves on with each frame that it is sent and never ahead of them: a link that
        breaks in the middle loses nothing.
        """
        retry = b"retry: %d\n" % self._retry(2_000, 3_000)
        began = retry + b"id: %s\n\n" % self.mark.encode()
        if after is None:
            return began
        process, _, number = after.rpartition("-")
        last = int(number) if number.isdecimal() and len(number) < 16 else -1
        oldest = self._ring[0].number if self._ring else self._number + 1
        if process != self.process or not oldest - 1 <= last <= self._number:
            return retry + b"\n" + event("reset", {"reason": "not_kept"}, self.mark)
        missed = [
            frame.bytes_for(listener.view, self.process)
            for frame in self._ring
            if frame.number > last and frame.topic in listener.topics
        ]
        told = [frame for frame in missed if frame is not None]
        listener.preload(told)
        return retry + b"\n" if told else began

    def _retry(self, least: int, most: int) -> int:
        # Those that lose their streams at once shall not come back at once.
        return least + self._rng.randrange(most - least)

    # -- watching -------------------------------------------------------------------------------

    def _watch(self) -> None:
        """Begin to watch at the first listener; it goes on, so that those who come back resume."""
        if not self._working:
            loop = asyncio.get_running_loop()
            self._unhear = self._engine.news.hear(self.take)
            work = [self._publish, self._beat, self._tell_figures]
            work += [self._follow] if self.follows else []
            self._working = [loop.create_task(one()) for one in work]

    def take(self, paper: Paper) -> None:
        """Take in what changed."""
        self._window.merge(paper)
        if self._window:
            self._stirred.set()

    async def _follow(self) -> None:
        while True:
            try:
                await self._engine.follow(self.take)
            except StoreError as error:
                log.debug("what other processes change is not heard: %s", error)
            except Exception:
                log.exception("what other processes change is not heard for a moment")
            self.take(UNKNOWN)
            await self._clock.sleep(AGAIN)

    async def _publish(self) -> None:
        while True:
            await self._stirred.wait()
            self._stirred.clear()
            self.publish()
            await self._clock.sleep(APART)

    def publish(self) -> None:
        """Tell the listeners what was taken in."""
        now = self._clock.now()
        for topic, news in self._window.take().items():
            self._number += 1
            frame = Frame(self._number, topic, now, news)
            self._ring.append(frame)
            for view, listeners in self._views.items():
                wanted = [one for one in listeners if topic in one.topics]
                encoded = frame.bytes_for(view, self.process) if wanted else None
                if encoded is not None:
                    for listener in wanted:
                        listener.put(encoded, self.mark)

    # -- signs of life --------------------------------------------------------------------------

    async def _beat(self) -> None:
        while True:
            await self._clock.sleep(BEAT)
            await self.beat()

    async def beat(self) -> None:
        """Send signs of life to those whose keys are still good, and end the others' streams."""
        refused: dict[str, bool] = {}
        for listener in self._everyone():
            key = listener.caller.key_id
            if key not in refused:
                refused[key] = await self._is_refused(listener)
            if refused[key]:
                listener.end(event("bye", {"reason": "unauthorised"}))
            else:
                listener.beat(b": hb\nid: %s\n\n" % self.mark.encode())

    async def _is_refused(self, listener: Listener) -> bool:
        if self.admit is None:
            return False
        known = listener.caller
        try:
            caller = await self.admit(*listener.admission)
        except Problem as problem:
            return problem.meaning.status in (401, 403)
        except Exception as error:
            log.debug("a stream's key cannot be checked now: %s", error)
            return False
        return caller.scope != known.scope or not known.roles <= caller.roles

    async def _tell_figures(self) -> None:
        while True:
            await self._clock.sleep(STATS_EVERY)
            await self.tell_figures()

    async def tell_figures(self) -> None:
        """Tell the present figures to those who want them, if anybody does."""
        wanted = [one for one in self._everyone() if STATS in one.topics]
        if not wanted:
            return
        try:
            frame = event(STATS, figures(await self._measured()))
        except StoreError as error:
            log.debug("there are no figures now: %s", error)
            return
        for listener in wanted:
            listener.put(frame, self.mark)

    def _everyone(self) -> list[Listener]:
        return [listener for listeners in self._views.values() for listener in listeners]

    # -- its end --------------------------------------------------------------------------------

    def drain(self) -> None:
        """Let every stream end now, and their readers come back spread over some seconds."""
        self._draining = True
        self._unhear()
        self._unhear = lambda: None
        for work in self._working:
            work.cancel()
        self._working.clear()
        for listener in self._everyone():
            retry = self._retry(1_000, 5_000)
            listener.end(event("bye", {"reason": "shutdown"}, retry=retry))
