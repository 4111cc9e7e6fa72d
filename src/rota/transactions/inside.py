"""What a client does in its caller's transaction."""

from collections.abc import Sequence
from typing import Any

from rota.model import Accepted, CancelOutcome, Micros, NewTask
from rota.transactions import work
from rota.transactions.do import ado, do
from rota.transactions.home import Home


class Inside:
    """A client's work on one connection; it counts when the caller commits (R1.3)."""

    def __init__(self, connection: Any, home: Home) -> None:
        self._connection = connection
        self._home = home

    def now(self) -> Micros:
        """Return the present instant, as far as the client knows the store's clock."""
        return self._home.clock.now()

    def submit(self, tasks: Sequence[NewTask]) -> list[Accepted]:
        """Store tasks, all or none."""
        return do(self._connection, work.submit(tasks, self.now()), self._home)

    async def asubmit(self, tasks: Sequence[NewTask]) -> list[Accepted]:
        """Store tasks, all or none."""
        return await ado(self._connection, work.submit(tasks, self.now()), self._home)

    def cancel(self, ids: Sequence[str], deadline: Micros | None = None) -> list[CancelOutcome]:
        """Cancel tasks, or ask them to stop."""
        asked = work.cancel(ids, self.now(), deadline)
        return do(self._connection, asked, self._home)

    async def acancel(
        self, ids: Sequence[str], deadline: Micros | None = None
    ) -> list[CancelOutcome]:
        """Cancel tasks, or ask them to stop."""
        asked = work.cancel(ids, self.now(), deadline)
        return await ado(self._connection, asked, self._home)
