"""Workers' sessions: who is at work, with how much, and asked to end: `app.sessions` (R9.1)."""

from collections.abc import Sequence

from msgspec import Struct

from rota.backend import Backend
from rota.client import Client
from rota.clock import parse_id
from rota.errors import SessionNotFound
from rota.faces import awaited, blocking
from rota.model import Session, State, TaskFilter
from rota.sync import Portal

HELD_CAP = 10_000
"""More than a worker holds."""


class WorkerSession(Struct, frozen=True):
    """A worker's session, and how many tasks it holds."""

    session: Session
    held: int


class Sessions:
    """Reads workers' sessions, and asks workers to end: `app.sessions`.

    Every verb has a blocking face and, with an `a` before its name, one to be awaited.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def _portal(self) -> Portal:
        return self._client.portal

    async def _list(self, *, live: bool = True) -> Sequence[WorkerSession]:
        """Return the sessions, newest first; also those that are over unless only the live ones."""
        return await self._client.patiently(lambda backend: _all(backend, live))

    async def _get(self, session_id: str) -> WorkerSession:
        """Return a session by its id, also one that is over; `SessionNotFound`."""
        known = parse_id(session_id)
        found = await self._client.patiently(lambda backend: _one(backend, known))
        if found is None:
            raise SessionNotFound(session_id)
        return found

    async def _drain(self, session_id: str) -> WorkerSession:
        """Ask a worker to take no more, finish what it holds, and end; `SessionNotFound`."""
        known = parse_id(session_id)
        drained = known is not None and await self._client.patiently(
            lambda backend: backend.drain_session(known)
        )
        if not drained:
            raise SessionNotFound(session_id)
        return await self._get(session_id)

    get, aget = blocking(_get), awaited(_get)
    list, alist = blocking(_list), awaited(_list)
    drain, adrain = blocking(_drain), awaited(_drain)


async def _all(backend: Backend, live: bool) -> Sequence[WorkerSession]:
    sessions = await backend.sessions(live=live)
    newest = sorted(sessions, key=lambda session: session.id, reverse=True)
    return [WorkerSession(session, await _held(backend, session.id)) for session in newest]


async def _one(backend: Backend, session_id: str | None) -> WorkerSession | None:
    for session in await backend.sessions(live=False):
        if session.id == session_id:
            return WorkerSession(session, await _held(backend, session.id))
    return None


async def _held(backend: Backend, session_id: str) -> int:
    where = TaskFilter(states=(State.RUNNING,), session=session_id)
    return sum((await backend.count(where, HELD_CAP)).values())
