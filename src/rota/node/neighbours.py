"""Sees at once when a worker on this machine has died, and gives its tasks back.

A session carries a mark of its process: the machine's boot, the namespaces in which the numbers of
its processes and its times mean what they mean here, the process's number and when it started.
Whoever shares all of the former can tell from the latter whether that process still lives. All
others have only the lease to go by, and so has a machine without Linux's /proc.
"""

import logging
import os
import socket
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from rota.backend import Backend
from rota.clock import Rng
from rota.model import Session

log = logging.getLogger("rota.worker")

LOOK = 0.5
"""The neighbours are looked at so often, in seconds."""
SESSIONS_A_SECOND = 100
"""So many sessions are read a second at the most, to learn who the neighbours are."""

_PROC = Path("/proc")


class Mark(Struct, frozen=True):
    """What identifies a process to its neighbours."""

    boot: str
    space: str
    pid: int
    born: str

    def __str__(self) -> str:
        return f"{self.boot}/{self.space}/{self.pid}/{self.born}"


def own_mark(proc: Path = _PROC) -> Mark | None:
    """Return the mark of this process, or None where it cannot be known for sure."""
    try:
        boot = (proc / "sys/kernel/random/boot_id").read_text().strip()
        spaces = f"{_space(proc, 'pid')}.{_space(proc, 'time')}"
        pid = os.getpid()
        numbers = _status(proc / "self", "NSpid").split()
        born = _born(proc, pid)
    except (OSError, ValueError):
        return None
    # More than one number, or another: this /proc shows the processes of an outer namespace.
    if numbers != [str(pid)] or not boot or born is None:
        return None
    return Mark(boot, spaces, pid, born)


def read_mark(text: str) -> Mark | None:
    """Return the mark that a session carries, or None."""
    parts = text.split("/")
    if len(parts) != 4 or not parts[2].isdecimal() or not all(parts):
        return None
    return Mark(parts[0], parts[1], int(parts[2]), parts[3])


def is_gone(mark: Mark, proc: Path = _PROC) -> bool:
    """Say whether this process, of the same boot and namespaces, surely lives no more."""
    try:
        os.kill(mark.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # it exists, and belongs to somebody else
    born = _born(proc, mark.pid)
    if born is None:
        return False  # /proc may hide it; that says nothing
    return born != mark.born or _is_dead_body(proc, mark.pid)


def _space(proc: Path, name: str) -> int:
    try:
        return (proc / "self/ns" / name).stat().st_ino
    except FileNotFoundError:
        if name == "time":
            return 0  # a kernel from before there were any
        raise


def _born(proc: Path, pid: int) -> str | None:
    """Return when a process started, in ticks since the boot."""
    try:
        # The name comes in brackets and may hold anything, further brackets too.
        return (proc / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


def _is_dead_body(proc: Path, pid: int) -> bool:
    """Say whether nothing is left of a process but its entry, which waits for its parent."""
    try:
        state = _status(proc / str(pid), "State")
        threads = list((proc / str(pid) / "task").iterdir())
    except (OSError, ValueError):
        return False
    return state[:1] in ("Z", "X") and len(threads) <= 1


def _status(process: Path, name: str) -> str:
    for line in (process / "status").read_text(errors="replace").splitlines():
        field, _, value = line.partition(":")
        if field == name:
            return value.strip()
    raise ValueError(f"no {name} in {process}")


class Neighbours:
    """Looks after the sessions of this machine; any number of workers may do it at once (R8.3)."""

    def __init__(self, backend: Backend, rng: Rng) -> None:
        self._backend = backend
        self._rng = rng
        self._here = own_mark()
        self._host = socket.gethostname()
        self._known: list[tuple[Session, Mark]] = []
        self._read_again = 0.0

    @property
    def possible(self) -> bool:
        """Whether deaths can be seen here at all."""
        return self._here is not None

    async def look(self) -> float:
        """End the sessions whose processes are gone; return the seconds until the next look."""
        clock = self._backend.clock
        if clock.monotonic() >= self._read_again:
            sessions = await self._backend.sessions(live=True)
            self._known = self._of_this_machine(sessions)
            pause = max(4 * LOOK, len(sessions) / SESSIONS_A_SECOND)
            self._read_again = clock.monotonic() + pause * (0.75 + self._rng.random() / 2)
        gone = [session for session, mark in self._known if is_gone(mark)]
        if not gone:
            return LOOK
        # Who has stopped in good order since the last reading has no live session any more.
        live = {session.id for session in await self._backend.sessions(live=True)}
        died = [session for session in gone if session.id in live]
        for session in died:
            log.warning(
                "worker %s (process %d) has died; its tasks are given back",
                session.name, session.pid,
            )  # fmt: skip
            await self._backend.close_session(session.id)
        ended = {session.id for session in gone}
        self._known = [known for known in self._known if known[0].id not in ended]
        if died:
            await self._backend.reap()
        return LOOK

    def _of_this_machine(self, sessions: Sequence[Session]) -> list[tuple[Session, Mark]]:
        here = self._here
        if here is None:
            return []
        marked = [(session, read_mark(session.process)) for session in sessions]
        return [
            (session, mark)
            for session, mark in marked
            if mark is not None
            and (mark.boot, mark.space) == (here.boot, here.space)
            and mark != here
            # Copies of one virtual machine may share the rest.
            and session.host == self._host
        ]
