"""The part of the seam that is about submissions."""

from collections.abc import Sequence
from typing import Protocol

from rota.model import Accepted, NewTask, State
from rota.requests import Submission


class Submissions(Protocol):
    """What whoever stands before a store may ask of submissions."""

    async def submit_once(
        self, tasks: Sequence[NewTask], submission: Submission
    ) -> list[Accepted] | Submission:
        """Store tasks together with the request that brought them, all or nothing.

        If an earlier request holds the same key, that is returned and nothing is stored. Without
        a key, a submission with this id that is there already gets the further tasks. `KeyBusy`
        if the same request is under way elsewhere.
        """
        ...

    async def submit_each(
        self, tasks: Sequence[NewTask], submissions: Sequence[Submission]
    ) -> list[bool]:
        """Store each task with the request that brought it alone; say for each if it was stored.

        For tasks without keys. Whose key is held, or was, is left out: `submit_once` finds out
        by whom. `KeyBusy` for all if one of the requests is under way elsewhere.
        """
        ...

    async def find_submission(self, scope: str, operation: str, key: str) -> Submission | None:
        """Return the request that holds an idempotency key, or None."""
        ...

    async def get_submission(self, submission_id: str) -> Submission | None:
        """Return a request by its id, or None; what lies beyond the scope is as if it were not."""
        ...

    async def states(self, ids: Sequence[str]) -> dict[str, State]:
        """Return in which state each of these tasks is; those that are gone are left out."""
        ...
