"""A provider of messages: it knows a repeat by its key, and counts how often each came."""

from pathlib import Path

import apsw


class Provider:
    """Whatever is sent to it under one key is delivered once (R3.5)."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def send(self, key: str) -> None:
        """Deliver a message, unless it has been; durable when it returns."""
        with self._open() as db:
            db.execute("create table if not exists sent (key text primary key, calls integer)")
            db.execute(
                "insert into sent values (?, 1) on conflict do update set calls = calls + 1", (key,)
            )

    def calls(self) -> dict[str, int]:
        """Return how often each key was sent; each was delivered once."""
        return dict(self._open().execute("select key, calls from sent"))

    def _open(self) -> apsw.Connection:
        connection = apsw.Connection(str(self._path))
        connection.set_busy_timeout(5_000)
        return connection
