"""What a worker and a process of its pool say to each other: JSON in frames, never a pickle (B175).

A frame is its length in four bytes and then the message.
"""

import asyncio
import socket
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from rota.model import AttemptError, Claimed, Micros, Note

LENGTH = 4


class Setup(Struct, frozen=True, tag=True):
    """Where the handlers are: in the app at `app` (`module:attribute`), or each at its own place.

    `path` is where modules are looked for.
    """

    path: list[str]
    app: str
    places: dict[str, str]
    log_level: int


class Start(Struct, frozen=True, tag=True):
    """Run this task; `now` is the store's time."""

    task: Claimed
    session_id: str
    now: Micros
    deadline: Micros | None
    soft_deadline: Micros | None


class Tell(Struct, frozen=True, tag=True):
    """The task is asked to stop, or its soft limit is over."""

    what: Literal["cancel", "soft"]


class Flushed(Struct, frozen=True, tag=True):
    """The answer to a flush: durable, or why not."""

    lost: str = ""
    problem: str = ""


class Ready(Struct, frozen=True, tag=True):
    """The handlers have been imported, or the problem says why not."""

    problem: str = ""


class Noted(Struct, frozen=True, tag=True):
    """What the handler noted; with `flush` it waits until that is durable."""

    note: Note | None = None
    flush: bool = False


class Logged(Struct, frozen=True, tag=True):
    """A log record, as text."""

    logger: str
    level: int
    message: str
    extra: dict[str, Any] = {}


class Ended(Struct, frozen=True, tag=True):
    """How the run ended; which of the endings it is says the field that is set."""

    completed: bool = False
    result: str | None = None
    error: AttemptError | None = None
    permanent: bool = False
    after: Micros | None = None
    least: Micros | None = None
    until: Micros | None = None
    reason: str | None = None
    completed_here: bool = False


ToChild = Setup | Start | Tell | Flushed
FromChild = Ready | Noted | Logged | Ended

T = TypeVar("T")

to_child = msgspec.json.Decoder(ToChild)
from_child = msgspec.json.Decoder(FromChild)


def frame(message: Struct) -> bytes:
    """Return a message as it goes over the line."""
    data = msgspec.json.encode(message)
    return len(data).to_bytes(LENGTH, "big") + data


async def received(reader: asyncio.StreamReader) -> FromChild:
    """Return the next message from a child; `IncompleteReadError` if there is none."""
    length = int.from_bytes(await reader.readexactly(LENGTH), "big")
    return from_child.decode(await reader.readexactly(length))


def next_frame(line: socket.socket) -> bytes | None:
    """Return the next message on a blocking line, or None at its end."""
    head = _exactly(line, LENGTH)
    return None if head is None else _exactly(line, int.from_bytes(head, "big"))


def _exactly(line: socket.socket, count: int) -> bytes | None:
    data = bytearray()
    while len(data) < count:
        part = line.recv(count - len(data))
        if not part:
            return None
        data += part
    return bytes(data)
