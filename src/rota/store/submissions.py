"""The part of a store's contract that is about submissions."""

from collections.abc import Sequence
from typing import Protocol

from rota.model import Accepted, Micros, NewTask, State
from rota.requests import Submission


class Submissions(Protocol):
    """What a store keeps of submissions."""

    async def submit_once(
        self, tasks: Sequence[NewTask], submission: Submission, now: Micros
    ) -> list[Accepted] | Submission:
        """Store tasks like `submit`, and the submission with their ids, in one transaction.

        If a submission with the same scope, operation and key is there, and its `key_until` is to
        come, that is returned and nothing is stored. Without a key a submission of the same id
        gets the further ids. `KeyBusy` if another transaction is about to store the same key.
        """
        ...

    async def submit_each(
        self, tasks: Sequence[NewTask], submissions: Sequence[Submission], now: Micros
    ) -> list[bool]:
        """Store each task with the submission that it alone came in, in one transaction for all.

        For tasks without keys and submissions that have some. Where a key is held, or was and has
        not been let go of, nothing is stored; says for each whether it was. `KeyBusy` for all if
        another transaction is about to store one of the keys.
        """
        ...

    async def find_submission(
        self, scope: str, operation: str, key: str, now: Micros
    ) -> Submission | None:
        """Return the submission that holds the key at `now`."""
        ...

    async def get_submission(self, submission_id: str) -> Submission | None:
        """Return the submission of this id."""
        ...

    async def states(self, ids: Sequence[str]) -> dict[str, State]:
        """Return the state of each task that there is."""
        ...
