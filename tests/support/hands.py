"""A worker's hands without a worker: takes an app's tasks and ends them as a test wants."""

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from rota import Backoff, Rota
from rota.backend import Backend, Report
from rota.config import LEASE
from rota.model import AttemptError, Claimed, Session
from rota.policy.lifecycle import Completed, Ending, Failed
from tests.support.factories import Make

BATCH = 500


class Hands:
    """A live session on the store of an app."""

    def __init__(self, app: Rota, **fields: object) -> None:
        self._client = app._client
        self.session: Session = self._client.portal.run(lambda: self._open(fields))

    async def _open(self, fields: dict[str, object]) -> Session:
        backend = await self._client.opened()
        now = backend.clock.now()
        made = Make(now).session(started_at=now, lease_until=now + LEASE)
        session = msgspec.structs.replace(made, **fields)
        await backend.open_session(session)
        return session

    def take(self, queue: str = "default", slots: int = BATCH) -> list[Claimed]:
        """Take tasks of a queue and leave them running."""

        async def work() -> list[Claimed]:
            backend = await self._client.opened()
            return (await backend.claim(self.session.id, [queue], slots, ())).tasks

        return self._client.portal.run(work)

    def end(self, tasks: Sequence[Claimed], ending: Callable[[Claimed], Ending]) -> None:
        """End tasks that were taken; each report must apply."""

        async def work() -> None:
            backend: Backend = await self._client.opened()
            reports = [Report(task, ending(task), Backoff()) for task in tasks]
            assert all(await backend.finish(self.session.id, reports))

        self._client.portal.run(work)

    def complete(self, queue: str = "default", result: str | None = None) -> None:
        """Complete everything that is ready in a queue."""
        while tasks := self.take(queue):
            self.end(tasks, lambda _: Completed(result))

    def fail(
        self,
        queue: str = "default",
        message: str = "no route to the gateway",
        *,
        type_: str = "ConnectionError",
        permanent: bool = True,
    ) -> None:
        """Fail everything that is ready in a queue, for good unless it may be tried again."""
        while tasks := self.take(queue):
            error = AttemptError(self._client.backend.clock.now(), 0, type_, message)
            self.end(tasks, partial(_failed, error, permanent))


def _failed(error: AttemptError, permanent: bool, task: Claimed) -> Failed:
    return Failed(msgspec.structs.replace(error, attempt=task.attempt), permanent)
