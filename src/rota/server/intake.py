"""Where submits come in: single ones share a commit, and each is answered after it (R1.2)."""

import asyncio
from collections.abc import Sequence

from rota.app import Rota
from rota.backend import Backend
from rota.model import Accepted, NewTask
from rota.outbox import Outbox
from rota.requests import Submission
from rota.server.caller import Caller
from rota.server.known_kinds import KnownKinds
from rota.server.submissions import Checker


class Intake:
    """Checks and stores what callers hand in one by one; belongs to one event loop.

    `under_way` are the idempotency keys of requests that are being carried out: scope, operation
    and key.
    """

    def __init__(self, app: Rota, backend: Backend, *, any_kind: bool) -> None:
        self.kinds = KnownKinds(app.registry, backend, any_kind=any_kind)
        self._app = app
        self._backend = backend
        self.under_way: set[tuple[str, str, str]] = set()
        self._plain: Outbox[NewTask, Accepted] | None = None
        self._keyed: Outbox[NewTask, Accepted] | None = None
        self._once: Outbox[tuple[NewTask, Submission], bool] | None = None

    def checker(self, caller: Caller, parent: str | None) -> Checker:
        """Return what checks the tasks of a caller; `parent` is their request's `traceparent`."""
        return Checker(self._app, self.kinds, caller, parent)

    async def put(self, task: NewTask) -> Accepted:
        """Store one task together with those that come meanwhile; answer after the commit."""
        if self._plain is None or self._keyed is None:
            loop = asyncio.get_running_loop()
            self._plain = Outbox(self._submit, loop)
            # A key may be held by a stranger's open transaction for as long as that lasts; only
            # other submits with keys wait for it.
            self._keyed = Outbox(self._submit, loop)
        return await (self._plain if task.key is None else self._keyed).aput(task)

    async def put_once(self, task: NewTask, request: Submission) -> bool:
        """Store one task with the request that brought it, like `put`; False if its key is held.

        For tasks without keys of their own.
        """
        if self._once is None:
            self._once = Outbox(self._submit_each, asyncio.get_running_loop())
        return await self._once.aput((task, request))

    async def _submit_each(self, pairs: Sequence[tuple[NewTask, Submission]]) -> list[bool]:
        return await self._backend.submit_each(
            [task for task, _ in pairs], [request for _, request in pairs]
        )

    async def _submit(self, tasks: Sequence[NewTask]) -> list[Accepted]:
        return await self._backend.submit(tasks)
