"""The part of a store's contract that is about changes of tasks (R5.3, R5.4)."""

from collections.abc import Sequence
from typing import Protocol

from rota.actions import Action, AmendOutcome, Changes, Counted, DeleteOutcome, Found, Moved, Placed
from rota.model import Micros, TaskFilter
from rota.orders import Order, Ordered, Spot


class Actions(Protocol):
    """What a store keeps of changes of tasks.

    Looks are bounded, so that whatever is asked for by a person costs little (B170). An action is
    taken in hand by one node at a time: `hold` rises with each, and a run is written down under the
    newest hold alone. What a run changes is guarded item by item, so a run that a crash cut off is
    done again without harm.
    """

    async def search(
        self, where: TaskFilter, *, before_id: str | None = None, limit: int, most: int
    ) -> Found:
        """Return at most `limit` ids of matching tasks below `before_id`, newest first.

        Only the newest `most` tasks below it are looked at; `next_id` says where to go on.
        """
        ...

    async def ordered(
        self,
        where: TaskFilter,
        *,
        order: Order,
        after: Spot | None = None,
        limit: int,
        most: int,
    ) -> Ordered:
        """Return at most `limit` ids of matching tasks behind a place of an order but that by id.

        Only `most` tasks behind it are looked at; `next` says where to go on.
        """
        ...

    async def count_among(self, where: TaskFilter, cap: int, most: int) -> Counted:
        """Count matching tasks by state, each up to `cap`, looking at `most` of each state."""
        ...

    async def placed(self, ids: Sequence[str]) -> list[Placed | AmendOutcome]:
        """Return where each task waits, or why it cannot be amended."""
        ...

    async def amend(
        self, moves: Sequence[Moved], changes: Changes, now: Micros
    ) -> list[AmendOutcome | None]:
        """Put tasks that wait where `moves` says, with the time limit and tags of `changes`.

        What is due then is ready, what is not is scheduled; what has a gate is scheduled in any
        case unless it has come in and stays due. None for a task that waits, but not where it was
        seen.
        """
        ...

    async def delete(self, ids: Sequence[str]) -> list[DeleteOutcome]:
        """Delete finished tasks and dead letters; nothing else."""
        ...

    async def begin_action(self, action: Action) -> bool:
        """Store an action; False if there is one with its id."""
        ...

    async def action(self, action_id: str) -> Action | None:
        """Return an action."""
        ...

    async def actions(
        self,
        *,
        tenant: str | None = None,
        queues: Sequence[str] | None = None,
        before_id: str | None = None,
        limit: int = 50,
    ) -> list[Action]:
        """Return the actions of the tenant, and of none but the queues, newest first."""
        ...

    async def next_action(self) -> Micros | None:
        """Return when the next action wants to be carried on; None if none runs."""
        ...

    async def hold_action(self, now: Micros, until: Micros) -> Action | None:
        """Take the action in hand that has been due longest; `until` then it is nobody else's."""
        ...

    async def note_run(self, action: Action) -> bool:
        """Write down how far an action is and let go of it; False if another hold is newer.

        What was stopped meanwhile stays stopped; what the run did is counted all the same.
        """
        ...

    async def stop_action(self, action_id: str, now: Micros) -> bool:
        """Stop an action that runs; False if there is none."""
        ...

    async def prune_actions(self, before: Micros, limit: int) -> int:
        """Forget actions that ended before then; returns how many."""
        ...
