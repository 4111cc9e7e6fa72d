"""A run inside a process of the pool, and the line over which it reaches the worker."""

import logging
import socket
import threading
from collections.abc import Awaitable
from typing import Any, Literal

import msgspec

from rota import effects
from rota.context import Context, Settled, SoftTimeout
from rota.errors import CancelRequested, LeaseLost, StoreError
from rota.model import Note
from rota.node.wire import (
    Flushed,
    Logged,
    Noted,
    Setup,
    Start,
    Tell,
    frame,
    next_frame,
    to_child,
)

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class ChildLine:
    """The line to the worker: any thread may send, one listens."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._sending = threading.Lock()
        self._flushing = threading.Lock()
        self._answered = threading.Event()
        self._answer = Flushed()

    def receive(self) -> Setup | Start | Tell | Flushed | None:
        """Return the next message, or None at the end of the line."""
        try:
            data = next_frame(self._line)
        except OSError:
            return None
        return None if data is None else to_child.decode(data)

    def send(self, message: msgspec.Struct) -> None:
        """Send a message; at the end of the line nothing happens, the listener sees it too."""
        data = frame(message)
        try:
            with self._sending:
                self._line.sendall(data)
        except OSError:
            pass

    def flush(self) -> Flushed:
        """Ask for what was noted to be made durable, and wait for the answer."""
        with self._flushing:
            self._answered.clear()
            self.send(Noted(flush=True))
            self._answered.wait()
            return self._answer

    def answered(self, answer: Flushed) -> None:
        """Take in the answer to a flush."""
        self._answer = answer
        self._answered.set()


class ChildRun:
    """A run's link to the worker, through the line (R3.5, R4.3, R5.2)."""

    def __init__(self, start: Start, line: ChildLine) -> None:
        self.claimed = start.task
        self.session_id = start.session_id
        self.now = start.now
        self.completed_here = False
        self._line = line
        self._asked = False
        self._soft = False
        self._noted = False
        self.context = Context(
            start.task, start.deadline, soft_deadline=start.soft_deadline, link=self
        )

    def told(self, what: Literal["cancel", "soft"]) -> None:
        """Take in what the worker has to say."""
        if what == "cancel":
            self._asked = True
        else:
            self._soft = True

    @property
    def cancel_requested(self) -> bool:
        """Whether the task is asked to stop."""
        return self._asked

    def check(self) -> None:
        """Raise what the handler is to be told; the process of a run that is lost is killed."""
        if self._asked:
            raise CancelRequested
        if self._soft:
            self._soft = False
            raise SoftTimeout

    def note(self, note: Note) -> None:
        """Pass on progress or a checkpoint."""
        if not self.completed_here:
            self._noted = True
            self._line.send(Noted(note))

    def flush(self) -> Awaitable[None]:
        """Wait until what was noted is durable."""
        self._noted = False
        answer = self._line.flush()
        if answer.lost:
            raise LeaseLost(self.claimed.id)
        if answer.problem:
            raise StoreError(answer.problem)
        return Settled()

    def complete(self, connection: Any, result: Any) -> None:
        """Complete the task in the caller's own transaction."""
        self._settle_notes()
        effects.complete(connection, self.claimed, self.session_id, result)
        self.completed_here = True

    async def acomplete(self, connection: Any, result: Any) -> None:
        """Do what `complete` does on an asynchronous connection."""
        self._settle_notes()
        await effects.acomplete(connection, self.claimed, self.session_id, result)
        self.completed_here = True

    def _settle_notes(self) -> None:
        # Later they would wait for the row that the caller's transaction holds.
        if self._noted:
            self.flush()


class LineHandler(logging.Handler):
    """Sends log records to the worker, which writes them where it writes its own."""

    def __init__(self, line: ChildLine) -> None:
        super().__init__()
        self._line = line

    def emit(self, record: logging.LogRecord) -> None:
        """Send a record as text, with what was added to it."""
        try:
            extra = {
                name: value if isinstance(value, int | float | str) else repr(value)
                for name, value in vars(record).items()
                if name not in _PLAIN
            }
            # With its traceback, as the formatter of any handler would write it.
            text = logging.Formatter("%(message)s").format(record)
            self._line.send(Logged(record.name, record.levelno, text, extra))
        except Exception:
            self.handleError(record)
