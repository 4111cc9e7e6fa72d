"""Collects what an engine changes, and lets it go out: here, and to other processes (R9.2)."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rota.backend import Report
from rota.clock import Clock, new_rng
from rota.engine.news import PROGRESS, UNKNOWN, Change, Paper, Topic, Window, read, written
from rota.errors import StoreError
from rota.model import (
    Accepted,
    CancelOutcome,
    Claimed,
    Micros,
    NewTask,
    Note,
    RetryOutcome,
    State,
    Transition,
)
from rota.schedule import Due, Firing
from rota.store.base import Store

WINDOW = 0.25
"""News goes out so many seconds apart at least."""


class Newsroom:
    """Collects what one engine changes; belongs to the engine's event loop.

    Nothing is collected unless somebody hears it here or the store carries it to others.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._announces = store.traits.announces
        self._origin = f"{new_rng().getrandbits(48):012x}"
        self._hearing: list[Callable[[Paper], None]] = []
        self._window = Window()
        self._unsent = Window()
        self._not_before = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._sending: asyncio.Task[None] | None = None
        self.on = self._announces

    def hear(self, heard: Callable[[Paper], None]) -> Callable[[], None]:
        """Call `heard` with what this engine changes; returns what ends that."""
        self._hearing.append(heard)
        self.on = True

        def end() -> None:
            self._hearing.remove(heard)
            self.on = self._announces or bool(self._hearing)

        return end

    def add(self, topic: Topic, changes: Iterable[Change]) -> None:
        """Take in what a batch changed, after its commit; nothing is looked at if nobody hears."""
        if self.on:
            self._window.add(topic, changes)
            self._stirred()

    def touched(
        self,
        topic: Topic,
        ids: Iterable[str],
        what: str,
        *,
        queue: str | None = None,
        tenant: str | None = None,
    ) -> None:
        """Take in that the same happened to all of these."""
        self.add(topic, (Change(one, what, queue, tenant) for one in ids))

    def submitted(self, tasks: Sequence[NewTask], now: Micros) -> None:
        """Take in tasks that were stored."""
        self.add(Topic.TASKS, (_new(task, now) for task in tasks))

    def claimed(self, tasks: Sequence[Claimed]) -> None:
        """Take in tasks that were handed out."""
        self.add(Topic.TASKS, (_change(task, State.RUNNING) for task in tasks))

    def finished(
        self, reports: Sequence[Report], moves: Sequence[Transition], applied: Sequence[bool]
    ) -> None:
        """Take in what became of tasks that were held."""
        if not self.on:
            return
        ended = zip(reports, moves, applied, strict=True)
        self.add(Topic.TASKS, (_change(one.task, move.to) for one, move, ok in ended if ok))
        if any(move.to is State.FAILED for move in moves):
            ended = zip(reports, moves, applied, strict=True)
            failed = (one.task for one, move, ok in ended if ok and move.to is State.FAILED)
            self.add(Topic.DEAD_LETTERS, (_change(task, State.FAILED) for task in failed))

    def settled(self, ids: Sequence[str], outcomes: Sequence[CancelOutcome]) -> None:
        """Take in tasks that were cancelled or asked to stop."""
        self.add(Topic.TASKS, _these(ids, outcomes, _CANCELS))

    def retried(self, ids: Sequence[str], outcomes: Sequence[RetryOutcome]) -> None:
        """Take in tasks that were made ready; failed ones are no dead letters any more."""
        words = {RetryOutcome.COMPLETED: State.READY.value}
        self.add(Topic.TASKS, _these(ids, outcomes, words))
        self.add(Topic.DEAD_LETTERS, _these(ids, outcomes, words))

    def replayed(self, ids: Sequence[str], copies: Sequence[Accepted | None]) -> None:
        """Take in dead letters of which a new task was made."""
        made = [(one, copy.id) for one, copy in zip(ids, copies, strict=True) if copy]
        self.touched(Topic.DEAD_LETTERS, (one for one, _ in made), "replayed")
        self.touched(Topic.TASKS, (copy for _, copy in made), State.READY.value)

    def dead_letters(self, ids: Sequence[str], done: Sequence[bool], what: str) -> None:
        """Take in what happened to dead letters."""
        self.add(Topic.DEAD_LETTERS, _these(ids, done, {True: what}))

    def noted(self, notes: Sequence[Note]) -> None:
        """Take in tasks that told of their progress."""
        self.touched(Topic.TASKS, (note.id for note in notes), PROGRESS)

    def fired(self, due: Due, firing: Firing, now: Micros) -> None:
        """Take in what a schedule made."""
        if not self.on:
            return
        schedule = due.schedule
        work = schedule.work
        self.touched(Topic.SCHEDULES, [schedule.id], "fired", queue=work.queue, tenant=work.tenant)
        self.add(Topic.TASKS, (_new(run.task, now) for run in firing.runs))
        if firing.cancel_previous:
            self.unknown(Topic.TASKS)

    def unknown(self, *topics: Topic) -> None:
        """Take in that something changed of these topics, and it is not known what."""
        if self.on:
            for topic in topics:
                self._window.more(topic)
            self._stirred()

    def read(self, text: str | None) -> Paper:
        """Return what another process announced; nothing if this one did itself."""
        return UNKNOWN if text is None else read(text, self._origin)

    def _stirred(self) -> None:
        if self._window and self._timer is None:
            wait = max(self._not_before - self._clock.monotonic(), 0.0)
            self._timer = asyncio.get_running_loop().call_later(wait, self.flush)

    def flush(self) -> None:
        """Let what was collected go out now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._window:
            return
        paper = self._window.take()
        self._not_before = self._clock.monotonic() + WINDOW
        for heard in list(self._hearing):
            heard(paper)
        if self._announces:
            self._unsent.merge(paper)
            if self._sending is None:
                self._sending = asyncio.get_running_loop().create_task(self._send())

    async def _send(self) -> None:
        try:
            while self._unsent:
                paper = self._unsent.take()
                try:
                    await self._store.announce(written(paper, self._origin))
                except StoreError:
                    for topic in paper:
                        self._unsent.more(topic)  # it is said with the next news
                    break
        finally:
            self._sending = None

    async def close(self) -> None:
        """Send what is left, and be silent."""
        self.flush()
        if self._sending is not None:
            await asyncio.gather(self._sending, return_exceptions=True)
        self.on = False


_CANCELS = {
    CancelOutcome.COMPLETED: State.CANCELLED.value,
    CancelOutcome.ACCEPTED: "cancel_requested",
}


def _these(
    ids: Sequence[str], outcomes: Sequence[Any], words: Mapping[Any, str]
) -> Iterator[Change]:
    for one, outcome in zip(ids, outcomes, strict=True):
        if outcome in words:
            yield Change(one, words[outcome])


def _new(task: NewTask, now: Micros) -> Change:
    state = State.SCHEDULED if task.run_at > now else State.READY
    return Change(task.id, state.value, task.queue, task.tenant)


def _change(task: Claimed, state: State) -> Change:
    return Change(task.id, state.value, task.queue, task.tenant)
