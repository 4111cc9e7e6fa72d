"""Claims as many tasks as there is room for, and waits for a sign when there are none."""

import asyncio
import logging
import math
from collections.abc import Callable, Sequence

from rota.backend import Backend, Claim
from rota.clock import Rng
from rota.config import SECOND
from rota.errors import SessionGone, StoreError
from rota.model import Claimed, Micros
from rota.node.counts import Counts
from rota.node.pools import PoolQueues
from rota.node.reporter import Reporter
from rota.node.slots import Slots
from rota.node.waiting import within
from rota.outage import OUTAGES, pause_after

log = logging.getLogger("rota.worker")

POLL = 1.0
"""An idle worker looks this often, in seconds, without any sign: the truth behind the hints."""
SOONEST = 0.001
"""An idle worker never looks again sooner than this, whatever a limit says."""
CLAIM_MOST = 1_000
BUFFER_MOST = 1_500
COVER = 2.5
"""How many claims' worth of work the buffer holds: one is run while the next is under way, and
that one is sent before the first is used up."""
PENDING_MOST = 2_000
"""No more is claimed while so many endings wait for the store."""
RATE_SPAN = 0.1
"""How fast handlers go is measured over so many seconds: a few that end at once are no rate."""
LOOK_AGAIN = 45.0
"""A claim that was cut off may be at work in the store for as long as a statement may take; what
it took is looked for at once, and again after so many seconds."""
STALE = 0.5
"""Whatever waits this long for a slot is handed back, for others may be free (case B143)."""


class Claimer:
    """Keeps the slots busy and holds little more than they can run (cases B139, B142, B143).

    The buffer is measured: it covers what the handlers finish while one claim is under way, so
    slow handlers have none and fast ones never wait. Of the kinds in `pooled`, which run in
    processes, no more are claimed than there are processes for. Where a limit holds tasks back,
    it looks again when the limit lets more through.

    The claimers of one session take turns: whose turn it is among tenants is carried from one
    claim to the next, and the store has no more of them to serve at once than before.
    """

    def __init__(
        self,
        backend: Backend,
        session_id: str,
        queues: PoolQueues,
        *,
        slots: Slots,
        reporter: Reporter,
        counts: Counts,
        rng: Rng,
        pooled: tuple[str, ...] = (),
        turn: asyncio.Lock | None = None,
        gone: Callable[[], None] = lambda: None,
    ) -> None:
        self._backend = backend
        self._clock = backend.clock
        self._session_id = session_id
        self._queues = queues
        self._slots = slots
        self._reporter = reporter
        self._counts = counts
        self._rng = rng
        self._pooled = pooled
        self._turn = turn or asyncio.Lock()
        self._gone = gone
        self._idle = True
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._stopping = False
        self._unsure = False
        self._passed_over = self._spared = False
        self._in_vain = 0
        self._look_again_at = math.inf
        self._outages = 0
        self._rate = 0.0
        self._seconds = 0.005
        self._seen = self._seen_started = slots.started
        self._seen_at = self._moved_at = self._clock.monotonic()

    def kick(self) -> None:
        """Look for work at once: there is news."""
        self._news.set()

    def freed(self) -> None:
        """Take note that there may be room."""
        self._room.set()
        if (self._passed_over and self._slots.places) or (self._spared and self._slots.free):
            self._news.set()  # what was left for the lack of a process or slot may be taken now

    def stop(self) -> None:
        """Claim nothing more; a claim that is under way is still taken in."""
        self._stopping = True
        self._news.set()
        self._room.set()

    async def run(self) -> None:
        """Claim until stopped."""
        while not self._stopping:
            self._slots.fill()
            self._slots.release_waiting(STALE)
            self._room.clear()
            want = self._want()
            if want < 1:
                await within(STALE, self._room)
                self._hand_back_stale()
            elif wait := await self._step(want):
                await within(wait, self._news)

    async def _step(self, want: int) -> float:
        """Claim once; say for how many seconds there will be no more unless there is news."""
        self._news.clear()
        began = self._clock.monotonic()
        try:
            async with self._turn:
                claim = await self._claim(want)
                self._take_in(claim.tasks, began)
                if claim.tasks and self._slots.tracer is not None:
                    self._slots.tracer.received(claim.tasks, self._clock.monotonic() - began)
        except OUTAGES as error:
            self._unsure, self._look_again_at = True, self._clock.monotonic() + LOOK_AGAIN
            wait = pause_after(error, self._outages, self._rng)
            self._outages += 1
            log.warning("no task can be claimed (%s); trying again in %.1f s", error, wait)
            await self._clock.sleep(wait)
            return 0.0
        except SessionGone:
            self._gone()  # a server knows at once; the heart would hear of it at its next beat
            return self._poll()
        except StoreError:
            self._unsure = True
            log.exception("a claim failed")
            return self._poll()
        self._unsure = False
        if self._outages:
            self._outages = 0
            log.info("tasks can be claimed again")
        self._idle = not claim.tasks
        self._spared = claim.spared
        return self._wait(claim, want)

    def _wait(self, claim: Claim, want: int) -> float:
        """Return how long to wait for a sign: no longer than a limit holds back what waits."""
        got, again_at = len(claim.tasks), claim.again_at
        self._in_vain = 0 if got else self._in_vain + 1
        if again_at is None or got >= want:
            return 0.0 if got else self._poll()
        left = (again_at - self._clock.now()) / SECOND
        if left > 0:
            return min(max(left, SOONEST), self._poll())
        # There may be more at once; where nothing is found again and again, less often.
        return 0.0 if got else SOONEST * 2 ** min(self._in_vain, 8)

    def _poll(self) -> float:
        return POLL * (0.75 + self._rng.random() / 2)

    def _take_in(self, tasks: Sequence[Claimed], began: float) -> None:
        if tasks:
            self._measure(began)
            self._counts.claimed += len(tasks)
            self._slots.offer(tasks)

    async def _claim(self, want: int) -> Claim:
        if self._unsure or self._clock.monotonic() >= self._look_again_at:
            # The claim whose answer was lost may have taken tasks that nobody here knows of. What
            # is known is noted before: what ends meanwhile must not be taken for lost.
            known = self._slots.hand_outs() | self._reporter.hand_outs()
            held = await self._backend.held(self._session_id)
            lost = [
                task
                for task in held
                if (task.id, task.fence) not in known and self._queues.take(task.queue)
            ]
            if lost:
                return Claim(lost)
            if not self._unsure:
                self._look_again_at = math.inf
        queues = await self._queues.now(idle=self._idle)
        if not queues:
            return Claim([])
        avoid = tuple(self._slots.unknown)
        if not self._pooled:
            # What will only wait here must not spend what a limit lets through.
            spare = max(want - self._slots.free, 0)
            return await self._backend.claim(self._session_id, queues, want, avoid, spare=spare)
        return await self._claim_beside_pool(queues, want, avoid)

    async def _claim_beside_pool(
        self, queues: tuple[str, ...], want: int, avoid: tuple[str, ...]
    ) -> Claim:
        """Claim what there are processes for, whatever its kind, and then only other kinds."""
        spare = max(want - self._slots.free, 0)
        self._passed_over = True
        places = min(self._slots.places, want)
        first = Claim([])
        if places:
            first = await self._backend.claim(
                self._session_id, queues, places, avoid, spare=max(places - self._slots.free, 0)
            )
            if len(first.tasks) < places:
                self._passed_over = False  # there are no more, of whatever kind
                return first
        if want == places:
            return first
        then = await self._backend.claim(
            self._session_id,
            queues,
            want - places,
            (*avoid, *self._pooled),
            spare=min(spare, want - places),
        )
        again_at = _earlier(first.again_at, then.again_at)
        return Claim([*first.tasks, *then.tasks], again_at, then.spared)

    def _want(self) -> int:
        if self._reporter.pending > PENDING_MOST or self._slots.full:
            return 0
        free, waiting = self._slots.free, self._slots.buffered
        most = min(int(self._rate * self._seconds * COVER), BUFFER_MOST)
        if not free and (self._spared or waiting * 2 >= most):
            return 0
        return min(free + max(most - waiting, 0), CLAIM_MOST)

    def _measure(self, began: float) -> None:
        now = self._clock.monotonic()
        self._seconds = (self._seconds + now - began) / 2
        span = now - self._seen_at
        if span >= RATE_SPAN:
            self._rate = (self._rate + (self._slots.started - self._seen) / span) / 2
            self._seen, self._seen_at = self._slots.started, now

    def _hand_back_stale(self) -> None:
        now = self._clock.monotonic()
        if not self._slots.buffered or self._slots.started != self._seen_started:
            self._seen_started, self._moved_at = self._slots.started, now
        elif now - self._moved_at >= STALE:
            self._rate = 0.0
            self._slots.release_buffered()


def _earlier(one: Micros | None, other: Micros | None) -> Micros | None:
    return min((at for at in (one, other) if at is not None), default=None)
