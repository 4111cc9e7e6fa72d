"""A heartbeat's own line: a thread and a connection that nothing else in the process holds up."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from rota.model import Beat, Micros
from rota.store.postgres.address import Address
from rota.store.postgres.connections import COMMON, Line
from rota.store.postgres.remote import renew
from rota.store.postgres.statements import Connection, fetch_value

T = TypeVar("T")

ANSWER_SECONDS = 5.0
"""A renewal that takes longer has failed: there must be time for another within the lease."""
_SETTINGS = COMMON | {
    "application_name": "rota pulse",
    "statement_timeout": f"{ANSWER_SECONDS:.0f}s",
}


class PostgresPulse:
    """Renews a session's lease from a thread of its own; every call waits for the answer."""

    def __init__(self, address: Address) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rota-pulse")
        self._runner = asyncio.Runner()
        self._line = Line(address, _SETTINGS, ANSWER_SECONDS)
        self._closed = False

    def beat(self, session_id: str, now: Micros, lease_until: Micros) -> Beat:
        def renewing(connection: Connection) -> Coroutine[Any, Any, Beat]:
            return renew(connection, session_id, now, lease_until)

        return self._do(self._line.run(renewing))

    def clock(self) -> Micros:
        async def read(connection: Connection) -> Micros:
            return int(await fetch_value(connection, "read_clock"))

        return self._do(self._line.run(read))

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._do(self._line.close())
            self._thread.submit(self._runner.close).result()
            self._thread.shutdown()

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return self._thread.submit(self._runner.run, work).result()
