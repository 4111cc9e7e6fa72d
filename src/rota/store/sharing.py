"""The part of a store's contract by which capacity is shared out (R7, R1.7)."""

from collections.abc import Sequence
from typing import Protocol

from rota.model import Micros
from rota.shares import (
    AnySettings,
    Depth,
    Limit,
    LimitUse,
    Settings,
)


class Sharing(Protocol):
    """Settings and limits are data, guarded by versions; each change raises the one version of all.

    `take` is told the version that its caller planned by, and hands out nothing under another one:
    so a pause or a limit holds for every claim that begins after it was stored (invariant 4).
    """

    async def settings(self) -> Settings:
        """Return all settings and limits, as of one moment."""
        ...

    async def put_settings(self, new: AnySettings, version: int) -> bool:
        """Store settings in the place of those with this version (0: nobody has set any yet).

        False, with nothing changed, if they have another version. The stored one is `version + 1`.
        """
        ...

    async def drop_settings(self, old: AnySettings) -> bool:
        """Forget settings, back to the defaults; False if there are none with this version."""
        ...

    async def put_limit(self, limit: Limit, version: int) -> bool:
        """Store a limit in the place of the one with its id and this version (0: a new one).

        False if it has another version, or its scope has another limit already. Tokens begin with
        the burst; a change keeps those that are left, up to the new burst.
        """
        ...

    async def drop_limit(self, limit_id: str) -> bool:
        """Remove a limit; False if there is none."""
        ...

    async def limit_use(self, limit_ids: Sequence[str], now: Micros) -> list[LimitUse]:
        """Return how much of these limits is in use; unknown ids are left out."""
        ...

    async def depths(
        self, queues: Sequence[str], tenants: Sequence[str], cap: int
    ) -> tuple[list[Depth], list[Depth]]:
        """Count the ready tasks that wait, of each queue and of each tenant, up to `cap` each.

        The cost follows the counts, never the history.
        """
        ...

    async def queues_with_work(self, limit: int) -> list[str]:
        """Return the queues that have a ready task, by name; the cost follows the answer."""
        ...
