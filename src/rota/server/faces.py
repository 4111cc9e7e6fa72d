"""The faces that programs use, `app.tasks` and the like, on a server's own loop and in a scope."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from rota.alerts import Alerts
from rota.app import Rota
from rota.audit import Audit
from rota.backend import Backend
from rota.client import Client
from rota.clock import new_rng
from rota.dead_letters import DeadLetters
from rota.insights import Insights
from rota.keys import Keys
from rota.kind_pauses import Kinds
from rota.limits import Limits
from rota.queues import Queues
from rota.schedules import Schedules
from rota.sessions import Sessions
from rota.statistics import Statistics
from rota.sync import Portal
from rota.tasks import Tasks
from rota.tenants import Tenants
from rota.webhooks import Webhooks

T = TypeVar("T")


class _Here(Portal):
    """Runs what is awaited on the loop of whoever awaits it."""

    async def arun(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return await work()


class _Direct(Client):
    """A client whose backend is open already; nobody waits here for a store that is away."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(lambda: backend, new_rng())

    def _start(self) -> None:
        super()._start()
        self.portal = _Here()

    async def opened(self) -> Backend:
        return self.backend

    async def patiently(self, call: Callable[[Backend], Awaitable[T]]) -> T:
        return await call(self.backend)


class Faces:
    """What a program has at `app.…`, on one backend; use the faces that are awaited."""

    def __init__(self, app: Rota, backend: Backend) -> None:
        client = _Direct(backend)
        self.client = client
        self.insights = Insights(client.opened, app.registry)
        self.tasks = Tasks(client, self.insights)
        self.dead_letters = DeadLetters(client, self.insights, app.registry)
        self.schedules = Schedules(client, app.registry, app.declarations, app.source)
        self.queues = Queues(client, app.registry)
        self.tenants = Tenants(client)
        self.kinds = Kinds(client, app.registry)
        self.limits = Limits(client)
        self.sessions = Sessions(client)
        self.statistics = Statistics(client)
        self.alerts = Alerts(client)
        self.webhooks = Webhooks(client)
        self.keys = Keys(client, records=False)
        self.audit = Audit(client)
