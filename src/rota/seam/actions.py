"""The part of the seam that is about changes of tasks."""

from collections.abc import Sequence
from typing import Protocol

from rota.actions import (
    Action,
    AmendOutcome,
    Carried,
    Changes,
    Counted,
    DeleteOutcome,
    Found,
)
from rota.model import TaskFilter
from rota.orders import Order, Ordered, Spot


class Actions(Protocol):
    """What whoever stands before a store may ask of changes of tasks."""

    async def search(
        self, where: TaskFilter, *, before_id: str | None, limit: int, most: int
    ) -> Found:
        """Return the ids of matching tasks among the newest `most` below `before_id` (B170)."""
        ...

    async def ordered(
        self, where: TaskFilter, *, order: Order, after: Spot | None, limit: int, most: int
    ) -> Ordered:
        """Return the ids of matching tasks behind a place, looking at `most` of them (B170).

        `InvalidTask` if these tasks have no index for this order.
        """
        ...

    async def count_among(self, where: TaskFilter, cap: int, most: int) -> Counted:
        """Count matching tasks by state, each up to `cap` and among at most `most` (B170)."""
        ...

    async def amend(self, ids: Sequence[str], changes: Changes) -> list[AmendOutcome]:
        """Change tasks that wait, and their place in line with them (R5.4)."""
        ...

    async def delete(self, ids: Sequence[str]) -> list[DeleteOutcome]:
        """Delete tasks that are over, dead letters among them, for good."""
        ...

    async def begin_action(self, action: Action) -> bool:
        """Store an action, which nodes will carry on; False if it is there already."""
        ...

    async def action(self, action_id: str) -> Action | None:
        """Return an action."""
        ...

    async def actions(
        self,
        *,
        tenant: str | None,
        queues: Sequence[str] | None,
        before_id: str | None,
        limit: int,
    ) -> list[Action]:
        """Return actions that reach no further than this tenant and these queues, newest first."""
        ...

    async def stop_action(self, action_id: str) -> bool:
        """Stop an action after the run that is under way; False if it was over."""
        ...

    async def carry_on(self) -> Carried:
        """Do the next run of an action that is due; says when there is another one."""
        ...
