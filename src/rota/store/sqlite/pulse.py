"""The heartbeat's own line to the file, for a thread of its own."""

from pathlib import Path

from rota.clock import wall
from rota.model import Beat, Micros
from rota.store.sqlite.line import Line
from rota.store.sqlite.remote import renew


class SQLitePulse:
    """Renews a lease whatever else the process does; blocks while it does."""

    def __init__(self, path: Path) -> None:
        self._line = Line(path)

    def beat(self, session_id: str, now: Micros, lease_until: Micros) -> Beat:
        lease = {"session": session_id, "now": now, "lease_until": lease_until}
        with self._line.transaction() as connection:
            return renew(connection, lease)

    def clock(self) -> Micros:
        return wall()

    def close(self) -> None:
        self._line.close()
