"""What this server process has handed out to remote workers, and whose their sessions are (S13).

It is a memory and no truth: another server may have handed out more, and a restart forgets all.
What is not known here is read from the store.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from rota.backend import Backend
from rota.clock import parse_id
from rota.http.wire import without_payload
from rota.model import Claimed
from rota.remote import Standing
from rota.server.problems import Problem

SESSIONS_MOST = 10_000
TASKS_MOST = 10_000
SILENT_SECONDS = 900.0
"""Longer than any lease: of a session that was silent for so long nothing need be remembered."""


class Holding:
    """One session: its owner, the newest of its claims that came here, and what it was handed."""

    def __init__(self, session_id: str, owner: str) -> None:
        self.session_id = session_id
        self.owner = owner
        self.heard_at = 0.0
        self.newest = 0
        self.lease: int | None = None
        self.differs = 0
        self.usual_size = 0
        """How many characters a task of its last claim had, on average; 0 before the first."""
        self.turn = asyncio.Lock()
        self.superseded = asyncio.Event()
        self._tasks: dict[str, Claimed] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def supersede(self) -> asyncio.Event:
        """End the claim that waits here, if there is one; return what ends the next one."""
        self.superseded.set()
        self.superseded = asyncio.Event()
        return self.superseded

    def take_in(self, tasks: Iterable[Claimed]) -> None:
        """Remember tasks that were handed out, without their payloads."""
        for task in tasks:
            self._tasks[task.id] = without_payload(task)
        while len(self._tasks) > TASKS_MOST:
            del self._tasks[next(iter(self._tasks))]

    def know(self, task_id: str, fence: int) -> Claimed | None:
        """Return a task that was handed out under this fence."""
        task = self._tasks.get(task_id)
        return task if task is not None and task.fence == fence else None

    def drop(self, task_ids: Iterable[str]) -> None:
        """Forget tasks that are held no more."""
        for task_id in task_ids:
            self._tasks.pop(task_id, None)

    def replace(self, held: Sequence[Claimed]) -> list[Claimed]:
        """Remember what the store says; return what was known here and is held no more."""
        now = {(task.id, task.fence) for task in held}
        lost = [task for task in self._tasks.values() if (task.id, task.fence) not in now]
        self._tasks.clear()
        self.take_in(held)
        return lost


class Holdings:
    """The sessions of remote workers, as far as this process has met them."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._clock = backend.clock
        self._known: OrderedDict[str, Holding] = OrderedDict()
        """The one that was silent for the longest is the first."""

    def __len__(self) -> int:
        return len(self._known)

    async def of(self, session_id: str, owner: str) -> Holding:
        """Return a session of this key; `Problem` 404 if there is none, or it is another key's."""
        known = self._known.get(session_id)
        if known is None:
            if parse_id(session_id) != session_id:
                raise no_session(session_id)
            standing = await self._backend.standing(session_id)
            known = None if standing is None else self.opened(standing)
        if known is None or not owner or known.owner != owner:
            raise no_session(session_id)
        self._heard(known)
        return known

    def _heard(self, one: Holding) -> None:
        one.heard_at = self._clock.monotonic()
        self._known.move_to_end(one.session_id)

    def opened(self, standing: Standing) -> Holding:
        """Remember a session."""
        known = self._known.get(standing.id)
        if known is None:
            self._make_room()
            known = self._known[standing.id] = Holding(standing.id, standing.owner)
            known.newest = standing.claimed
        self._heard(known)
        return known

    def _make_room(self) -> None:
        """Forget those whose workers are long gone, and more if there are too many."""
        silent = self._clock.monotonic() - SILENT_SECONDS
        while self._known:
            first = next(iter(self._known.values()))
            if len(self._known) < SESSIONS_MOST and first.heard_at >= silent:
                return
            self.forget(first.session_id)

    def forget(self, session_id: str) -> None:
        """Forget a session that is over."""
        known = self._known.pop(session_id, None)
        if known is not None:
            known.superseded.set()
        self._backend.forget_session(session_id)


def no_session(session_id: str) -> Problem:
    """Return the problem of a session that is not there, or not this key's."""
    return Problem(
        "not_found", f"there is no session {session_id:.64}; open one: POST /v1/sessions"
    )


def session_gone(session_id: str) -> Problem:
    """Return the problem of a session that is over."""
    return Problem(
        "session_gone",
        f"session {session_id} is over, and its tasks run elsewhere: stop them, open a new one",
    )
