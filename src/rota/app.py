"""The app: it wires everything together and does nothing itself."""

import os
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from copy import copy
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack, overload

from rota.alerts import Alerts
from rota.audit import Audit
from rota.backend import Backend
from rota.call import Call
from rota.client import PATIENCE, Client, Submitted
from rota.clock import SystemClock, new_rng
from rota.config import APP_NAME, DEFAULT_URL, SECOND, URL_VARIABLE
from rota.context import Context
from rota.dead_letters import DeadLetters
from rota.declared import Declarations, ScheduleOptions
from rota.declaring import declaring
from rota.engine import Engine
from rota.errors import ConfigurationError, InvalidTask, SchemaOutOfDate
from rota.hooks import Hook
from rota.http.address import is_server, server_at
from rota.insights import Insights
from rota.keys import Keys
from rota.kind_pauses import Kinds
from rota.kinds import KindOptions, make_kind
from rota.limits import Limits
from rota.model import Accepted
from rota.options import DEFAULTS, TaskOptions, check_options, declared
from rota.queues import Queues
from rota.registry import Kind, Registry, check_name
from rota.resource import Resource
from rota.retention import Keep, check_retention
from rota.running_actions import Actions
from rota.schedules import Schedules
from rota.sessions import Sessions
from rota.statistics import Statistics
from rota.store import masked, store_for
from rota.store.base import Store
from rota.task import Decorator, TaskKind
from rota.tasks import Tasks
from rota.telemetry import SILENT, Telemetry
from rota.tenants import Tenants
from rota.times import Duration, duration
from rota.webhooks import Webhooks

P = ParamSpec("P")
R = TypeVar("R")
H = TypeVar("H", bound=Hook)
K = TypeVar("K", bound=TaskKind[..., Any])


class Rota:
    """A set of task kinds and the store that keeps their tasks.

    `url` is `sqlite:///file.db` or `postgresql://…`; without it `$ROTA_URL` counts, then
    `sqlite:///rota.db`. Nothing is opened before it is needed. A SQLite file is made and migrated
    at first use; a PostgreSQL database is migrated by `rota migrate`. Calls wait for a store that
    is away for as long as `patience`. `keep` says for how long what is over can still be read, for
    instance `{"completed": "1d", "queues": {"sms": "6h"}}`; workers drop what is older. `name`
    tells the schedules that this program declares from those of others on the same store.

    `http://server:8300` is a server, which is called with the key `token`, by default that in
    `$ROTA_TOKEN` or in the file that `$ROTA_TOKEN_FILE` names; it is sent to that address alone.

    >>> app = Rota("sqlite:///docs.db")
    >>> @app.task(queue="sms", priority=2, timeout=30)
    ... async def send_result(student_id: int, phone: str) -> str:
    ...     return f"sent to {phone}"
    >>> send_result.using(tenant="board", delay="15m").bind(1, phone="+91").payload
    '{"student_id":1,"phone":"+91"}'
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        name: str = APP_NAME,
        patience: Duration = PATIENCE,
        keep: Keep | None = None,
        token: str | None = None,
    ) -> None:
        self.token = token
        self.url = url or os.environ.get(URL_VARIABLE) or DEFAULT_URL
        self.name = declared(check_name, name, "name", "Rota")
        self.retention = check_retention(keep)
        self.telemetry: Telemetry = SILENT
        self.patience = declared(duration, patience, "patience", "Rota")
        self.registry = Registry()
        self.declarations = Declarations()
        self._wire()

    def _wire(self) -> None:
        self._client = Client(
            self.connect, new_rng(), self.patience / SECOND, tracer=lambda: self.registry.tracer
        )
        insights = Insights(self._client.opened, self.registry)
        self.tasks = Tasks(self._client, insights)
        self.dead_letters = DeadLetters(self._client, insights, self.registry)
        self.schedules = Schedules(self._client, self.registry, self.declarations, self.source)
        self.queues = Queues(self._client, self.registry)
        self.tenants = Tenants(self._client)
        self.kinds = Kinds(self._client, self.registry)
        self.limits = Limits(self._client)
        self.actions = Actions(self._client)
        self.sessions = Sessions(self._client)
        self.statistics = Statistics(self._client)
        self.alerts = Alerts(self._client)
        self.webhooks = Webhooks(self._client)
        self.keys = Keys(self._client)
        self.audit = Audit(self._client)

    def at(self, url: str, *, token: str | None = None) -> "Rota":
        """Return an app with the same kinds at another address; what was declared stays here.

        A token belongs to the address that it was given for and is not taken along.
        """
        moved = copy(self)
        moved.token = token or (self.token if url == self.url else None)
        moved.url = url
        moved._wire()
        return moved

    @property
    def source(self) -> str:
        """Where the schedules come from that this program declares: `code:` and its name."""
        return f"code:{self.name}"

    def __repr__(self) -> str:
        return f"<Rota {masked(self.url)}>"

    # -- kinds ----------------------------------------------------------------------------------

    @overload
    def task(
        self, handler: Callable[Concatenate[Context, P], Awaitable[R]], /
    ) -> TaskKind[P, Awaitable[R]]: ...
    @overload
    def task(self, handler: Callable[Concatenate[Context, P], R], /) -> TaskKind[P, R]: ...
    @overload
    def task(self, handler: Callable[P, R], /) -> TaskKind[P, R]: ...
    @overload
    def task(self, **options: Unpack[KindOptions]) -> Decorator: ...

    def task(self, *handler: Any, **options: Any) -> Any:
        """Register a handler as a kind of task; `ConfigurationError` if it cannot be one.

        An async function runs on the worker's event loop, a plain one in a thread, or with
        `executor="process"` in a process of a pool (R8.2). For the other options see
        `rota.kinds.KindOptions`.
        """
        if handler:
            return self._register(*handler)
        return lambda handler: self._register(handler, **options)

    def _register(self, handler: Any, **options: Unpack[KindOptions]) -> TaskKind[..., Any]:
        return self.add(make_kind(handler, **options))

    def add(self, kind: Kind) -> TaskKind[..., Any]:
        """Register a kind that is ready made; nothing changes if the app has it already."""
        if self.registry.get(kind.name) is not kind:
            self.registry.add(kind)
        return TaskKind(kind, kind.handler, self._client)

    def schedule(
        self, expression: str | None = None, **options: Unpack[ScheduleOptions]
    ) -> Callable[[K], K]:
        """Declare a schedule of the kind below; goes above `@app.task`, and may be repeated (R6.8).

        A cron expression, or `every="90s"`; for options see docs/reference/options.md. What is
        wrong, or never fires, is a `ConfigurationError`. Workers store it when they start.

        >>> app = Rota("sqlite:///docs.db")
        >>> @app.schedule("0 9 * * MON-FRI", tz="Europe/Berlin", payload={"day": "today"})
        ... @app.task
        ... def morning_report(day: str) -> None: ...
        """
        return declaring(self.declarations, expression, options)

    # -- around the handlers --------------------------------------------------------------------

    @overload
    def resource(self, opener: Callable[..., AsyncIterator[R]], /) -> R: ...
    @overload
    def resource(self, opener: Callable[..., Iterator[R]], /) -> R: ...
    @overload
    def resource(self, opener: Callable[..., AbstractAsyncContextManager[R]], /) -> R: ...
    @overload
    def resource(self, opener: Callable[..., AbstractContextManager[R]], /) -> R: ...
    @overload
    def resource(self, opener: Callable[..., Awaitable[R]], /) -> R: ...
    @overload
    def resource(self, opener: Callable[..., R], /) -> R: ...

    def resource(self, opener: Callable[..., Any], /) -> Any:
        """Declare what handlers share: opened once per worker at its first use, closed at its end.

        A generator that yields it, a function that returns it or a context manager, async or not.
        A handler asks for it by a default: `db: Database = database` (R8.2).
        """
        return Resource(opener)

    def before(self, hook: H) -> H:
        """Call `hook(ctx)` before each run. What a hook raises is logged and changes nothing."""
        return self.registry.hooks.add("before", hook)

    def after(self, hook: H) -> H:
        """Call `hook(ctx, result)` after each handler that returned."""
        return self.registry.hooks.add("after", hook)

    def on_failure(self, hook: H) -> H:
        """Call `hook(ctx, error)` after each failed attempt, with the exception."""
        return self.registry.hooks.add("on_failure", hook)

    def on_dead_letter(self, hook: H) -> H:
        """Call `hook(ctx, error)` when a task failed for good, with its last `AttemptError`."""
        return self.registry.hooks.add("on_dead_letter", hook)

    # -- submitting -----------------------------------------------------------------------------

    def call(self, kind: str, payload: dict[str, Any], **options: Unpack[TaskOptions]) -> Call:
        """Return a checked call of a kind by its name; `UnknownKind`, `InvalidTask`."""
        if not isinstance(payload, dict):
            raise InvalidTask("payload", "must be an object with the handler's arguments")
        known = self.registry[kind]
        checked = check_options(options) if options else DEFAULTS
        return Call(known, known.arguments.encode((), payload), checked)

    def submit(
        self, kind: str, payload: dict[str, Any], **options: Unpack[TaskOptions]
    ) -> Accepted:
        """Store one task of a kind by its name, durably; blocks, from any thread."""
        connection = options.pop("connection", None)
        return self._client.submit(self.call(kind, payload, **options), connection)

    async def asubmit(
        self, kind: str, payload: dict[str, Any], **options: Unpack[TaskOptions]
    ) -> Accepted:
        """Store one task of a kind by its name, durably."""
        connection = options.pop("connection", None)
        return await self._client.asubmit(self.call(kind, payload, **options), connection)

    def submit_many(self, calls: Iterable[Call], *, connection: Any = None) -> Submitted:
        """Store any number of calls, streamed from any iterable, and count them (R1.3, R1.5).

        With a `connection` all of them belong to its transaction, and exist if that commits.
        Otherwise they are committed in runs of 2,000 or 4 MB, each whole or not at all.
        `BatchRefused` says which item was refused and how many before it are stored.
        """
        total = Submitted()
        for answers in self._client.submit_each(calls, connection):
            total = total.plus(answers)
        return total

    async def asubmit_many(
        self, calls: Iterable[Call] | AsyncIterable[Call], *, connection: Any = None
    ) -> Submitted:
        """Do what `submit_many` does without blocking the event loop."""
        total = Submitted()
        async for answers in self._client.asubmit_each(calls, connection):
            total = total.plus(answers)
        return total

    def submit_each(self, calls: Iterable[Call], *, connection: Any = None) -> Iterator[Accepted]:
        """Store calls like `submit_many` and yield the answer to each, in order, as they come."""
        for answers in self._client.submit_each(calls, connection):
            yield from answers

    async def asubmit_each(
        self, calls: Iterable[Call] | AsyncIterable[Call], *, connection: Any = None
    ) -> AsyncIterator[Accepted]:
        """Store calls like `asubmit_many` and yield the answer to each, in order."""
        async for answers in self._client.asubmit_each(calls, connection):
            for answer in answers:
                yield answer

    def wake(self) -> None:
        """Tell sleeping workers that there is work; for after a commit of the caller's own.

        Returns at once, and may be called on an event loop. Nobody is told of what is committed in
        a caller's transaction; without this, workers see it when they look, within a second.
        """
        self._client.wake()

    # -- wiring ---------------------------------------------------------------------------------

    def connect(self) -> Backend:
        """Return a backend of its own against the app's store or server, not yet open."""
        if is_server(self.url):
            return server_at(self.url, self.token)
        store: Store = store_for(self.url)
        return _Opening(
            store,
            SystemClock(),
            new_rng(),
            retention=self.retention,
            telemetry=self.telemetry,
        )

    def migrate(self) -> list[str]:
        """Bring the store's schema up to date; return the names of what was applied (R8.6)."""
        if is_server(self.url):
            raise ConfigurationError("a server's store is migrated where the server runs")
        store = store_for(self.url)

        async def work() -> list[str]:
            try:
                return await store.migrate()
            finally:
                await store.close()

        return self._client.portal.run(work)

    def close(self) -> None:
        """Let go of connections and threads; the app can be used again afterwards."""
        self._client.close()

    def __enter__(self) -> "Rota":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Opening(Engine):
    """An engine that makes an embedded store ready by itself: there is nobody to migrate it."""

    async def open(self) -> None:
        try:
            await super().open()
        except SchemaOutOfDate:
            if not self.store.traits.embedded:
                raise
            await self.store.migrate()
            await super().open()
