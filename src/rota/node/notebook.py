"""What handlers say while they run, written in batches: progress and checkpoints (R3.5)."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from itertools import islice

from rota.backend import Backend
from rota.clock import Rng
from rota.context import Settled
from rota.errors import LeaseLost, StoreError
from rota.model import Note
from rota.node.run import HandOut
from rota.node.waiting import within
from rota.outage import OUTAGES, pause_after

log = logging.getLogger("rota.worker")

WITHIN = 1.0
"""What is noted is written after so many seconds at the latest, unless the store is away."""
BATCH = 500


class Notebook:
    """Gathers what the runs of one session note, from any thread, and writes the newest of each.

    `refused` is called, on the event loop, with a hand-out that the session does not hold any
    more, and whether its handler waits for the answer and so is told. A write whose outcome is not
    known is repeated; the fence makes that safe.
    """

    def __init__(
        self,
        backend: Backend,
        session_id: str,
        rng: Rng,
        *,
        refused: Callable[[HandOut, bool], None],
    ) -> None:
        self._backend = backend
        self._session_id = session_id
        self._rng = rng
        self._refused = refused
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._guard = threading.Lock()
        self._notes: dict[HandOut, Note] = {}
        self._waiting: list[tuple[HandOut, Future[None]]] = []
        self._closed = False
        self._writing = asyncio.Lock()
        self._news = asyncio.Event()
        self._hurry = asyncio.Event()

    @property
    def pending(self) -> bool:
        """Whether something has not been written."""
        return bool(self._notes or self._waiting)

    def write(self, note: Note) -> None:
        """Take in a note, from any thread; it is written soon."""
        hand_out = note.id, note.fence
        with self._guard:
            if self._closed:
                return
            first = not self._notes
            known = self._notes.get(hand_out)
            self._notes[hand_out] = note if known is None else _merged(known, note)
        if first:
            self._call(self._news.set)

    def forget(self, hand_out: HandOut) -> None:
        """Drop what a run noted and has not been written yet."""
        with self._guard:
            self._notes.pop(hand_out, None)

    def flush(self, hand_out: HandOut) -> Awaitable[None]:
        """Write what was noted at once: wait for it here, or on the event loop by `await`.

        `LeaseLost` if the session does not hold the task any more.
        """
        done: Future[None] = Future()
        with self._guard:
            if self._closed:
                raise LeaseLost(hand_out[0])
            self._waiting.append((hand_out, done))
        self._call(self._hasten)
        if threading.get_ident() == self._loop_thread:
            return asyncio.wrap_future(done)
        done.result()
        return Settled()

    def _call(self, work: Callable[[], None]) -> None:
        if threading.get_ident() == self._loop_thread:
            work()
        else:
            self._loop.call_soon_threadsafe(work)

    def _hasten(self) -> None:
        self._hurry.set()
        self._news.set()

    async def run(self) -> None:
        """Write until cancelled."""
        tries = 0
        while True:
            await self._news.wait()
            await within(WITHIN, self._hurry)
            self._news.clear()
            self._hurry.clear()
            try:
                await self.settle()
            except OUTAGES as error:
                wait = pause_after(error, tries, self._rng)
                tries += 1
                log.warning("progress cannot be kept yet (%s); again in %.1f s", error, wait)
                await self._backend.clock.sleep(wait)
                self._hasten()
            else:
                tries = 0

    async def settle(self) -> None:
        """Write what there is; when this returns, it is durable. Raises while the store is away."""
        async with self._writing:
            while self.pending:
                notes, waiting = self._taken()
                try:
                    await self._keep(notes, waiting)
                except BaseException as error:
                    if isinstance(error, OUTAGES) or not isinstance(error, StoreError):
                        self._put_back(notes, waiting)
                        raise
                    log.exception("the store could not keep progress or checkpoints")
                    for _, done in waiting:
                        _answer(done, error)

    async def _keep(self, notes: list[Note], waiting: list[tuple[HandOut, Future[None]]]) -> None:
        verdicts = await self._backend.note(self._session_id, notes) if notes else []
        lost = {
            (note.id, note.fence) for note, kept in zip(notes, verdicts, strict=True) if not kept
        }
        told = {hand_out for hand_out, _ in waiting}
        for hand_out in lost:
            self._refused(hand_out, hand_out in told)
        for hand_out, done in waiting:
            _answer(done, LeaseLost(hand_out[0]) if hand_out in lost else None)

    def _taken(self) -> tuple[list[Note], list[tuple[HandOut, Future[None]]]]:
        with self._guard:
            first = list(islice(self._notes, BATCH))
            notes = [self._notes.pop(hand_out) for hand_out in first]
            # Whoever waits for a note that comes in a later batch waits on.
            ready = [w for w in self._waiting if w[0] not in self._notes]
            self._waiting = [w for w in self._waiting if w[0] in self._notes]
            return notes, ready

    def _put_back(self, notes: list[Note], waiting: list[tuple[HandOut, Future[None]]]) -> None:
        with self._guard:
            for note in notes:
                newer = self._notes.get((note.id, note.fence))
                self._notes[note.id, note.fence] = note if newer is None else _merged(note, newer)
            self._waiting += waiting
        self._news.set()

    def close(self) -> None:
        """The session is over: nothing more is written, and whoever waits is told."""
        with self._guard:
            self._closed = True
            waiting, self._waiting = self._waiting, []
            self._notes.clear()
        for hand_out, done in waiting:
            _answer(done, LeaseLost(hand_out[0]))


def _merged(old: Note, new: Note) -> Note:
    return Note(
        old.id,
        old.fence,
        done=old.done if new.done is None else new.done,
        total=old.total if new.total is None else new.total,
        checkpoint=old.checkpoint if new.checkpoint is None else new.checkpoint,
    )


def _answer(done: Future[None], error: BaseException | None) -> None:
    if not done.set_running_or_notify_cancel():
        return  # whoever waited for it was cancelled
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)
