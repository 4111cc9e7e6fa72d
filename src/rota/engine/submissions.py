"""The engine's verbs for submissions."""

from collections.abc import Sequence

from rota.clock import Clock, Ids, Rng
from rota.engine.measuring import Measuring
from rota.model import Accepted, Micros, NewTask, State
from rota.requests import Submission
from rota.store.base import Store


class Submissions:
    """The verbs of `rota.seam.submissions`."""

    store: Store
    clock: Clock
    _ids: Ids
    _rng: Rng
    measuring: Measuring

    async def submit_once(
        self, tasks: Sequence[NewTask], submission: Submission
    ) -> list[Accepted] | Submission:
        if not tasks:
            return await self.store.submit_once(tasks, submission, self.clock.now())
        now, tasks = await self._let_in(tasks)
        done = await self.store.submit_once(tasks, submission, now)
        if isinstance(done, list):
            self.measuring.submitted(tasks, done)
            await self._tell_of(tasks, now)
        return done

    async def submit_each(
        self, tasks: Sequence[NewTask], submissions: Sequence[Submission]
    ) -> list[bool]:
        now, tasks = await self._let_in(tasks)
        stored = await self.store.submit_each(tasks, submissions, now)
        made = [task for task, new in zip(tasks, stored, strict=True) if new]
        if made:
            self.measuring.made(made)
            await self._tell_of(made, now)
        return stored

    async def find_submission(self, scope: str, operation: str, key: str) -> Submission | None:
        return await self.store.find_submission(scope, operation, key, self.clock.now())

    async def get_submission(self, submission_id: str) -> Submission | None:
        return await self.store.get_submission(submission_id)

    async def states(self, ids: Sequence[str]) -> dict[str, State]:
        return await self.store.states(ids)

    async def _let_in(self, tasks: Sequence[NewTask]) -> tuple[Micros, Sequence[NewTask]]:
        """Return the tasks as they are to be stored, and when that is."""
        raise NotImplementedError

    async def _tell_of(self, tasks: Sequence[NewTask], now: Micros) -> None:
        """Tell sleeping workers of tasks that were stored."""
        raise NotImplementedError
