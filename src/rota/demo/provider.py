"""The provider that sends the messages: a local database with an idempotency key per message.

It stands for a gateway that is somebody else's: Rota's store knows nothing of it, so what it
recorded is evidence of what Rota really did.
"""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw
from msgspec import Struct

from rota.clock import wall

BUSY_MS = 30_000

# A key is taken once. What was sent is counted in a table without any such rule: a message that
# came under two keys is there twice, and the report finds it.
SCHEMA = """
create table taken (key text primary key) without rowid;
create table message (
    kind text not null,
    recipient text not null,
    phone text not null,
    text text not null,
    key text not null,
    task text not null,
    worker integer not null,
    sent_at integer not null
);
create table absorbed (
    kind text not null,
    key text not null,
    task text not null,
    worker integer not null
);
"""

TAKE = "insert into taken (key) values (?) on conflict do nothing"
SEND = """
insert into message (kind, recipient, phone, text, key, task, worker, sent_at)
values (?, ?, ?, ?, ?, ?, ?, ?)
"""
ABSORB = "insert into absorbed (kind, key, task, worker) values (?, ?, ?, ?)"


class Message(Struct, frozen=True):
    """What the provider is asked to send; it sends one message per key."""

    key: str
    kind: str
    recipient: str
    phone: str
    text: str


class Provider:
    """Sends messages, each key once; safe from many threads and processes at once."""

    def __init__(self, path: Path) -> None:
        self._connection = open_provider(path)
        self._lock = threading.Lock()
        self._worker = os.getpid()

    def send(self, task: str, messages: Sequence[Message]) -> int:
        """Record the messages, all or none; return how many had been sent under their key."""
        with self._lock, _transaction(self._connection):
            now = wall()
            return sum(not self._record(task, message, now) for message in messages)

    def _record(self, task: str, message: Message, now: int) -> bool:
        kind, key = message.kind, message.key
        self._connection.execute(TAKE, (key,))
        if not self._connection.changes():
            self._connection.execute(ABSORB, (kind, key, task, self._worker))
            return False
        self._connection.execute(
            SEND,
            (kind, message.recipient, message.phone, message.text, key, task, self._worker, now),
        )
        return True

    def close(self) -> None:
        """Let go of the database."""
        self._connection.close()


def create_provider(path: Path) -> None:
    """Make the provider's database, empty."""
    connection = open_provider(path)
    connection.pragma("journal_mode", "wal")
    connection.execute(SCHEMA)
    connection.close()


def open_provider(path: Path) -> apsw.Connection:
    """Return a connection that waits while another process writes."""
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(BUSY_MS)
    # Enough for what is to be shown: here processes are killed, machines are not.
    connection.pragma("synchronous", "normal")
    return connection


@contextmanager
def _transaction(connection: apsw.Connection) -> Iterator[None]:
    # Immediate: one that began with a read could not wait for another writer, only fail.
    connection.execute("begin immediate")
    try:
        yield
    except BaseException:
        connection.execute("rollback")
        raise
    connection.execute("commit")
