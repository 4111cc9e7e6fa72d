"""The app: it wires everything together and does nothing itself."""

import inspect
import os
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, Unpack, overload

from rota.backend import Backend
from rota.call import Call
from rota.client import Client, Submitted
from rota.clock import SystemClock, new_rng
from rota.config import DEFAULT_URL, PRIORITY_DEFAULT, URL_VARIABLE
from rota.context import Context
from rota.engine import Engine
from rota.errors import ConfigurationError, InvalidTask, SchemaOutOfDate
from rota.insights import Tasks
from rota.model import Accepted
from rota.options import DEFAULTS, TaskOptions, check_options, check_priority, declared, positive
from rota.policy.retry import Backoff
from rota.registry import Kind, Registry, check_name
from rota.store import masked, store_for
from rota.store.base import Store
from rota.task import TaskKind
from rota.times import Duration

P = ParamSpec("P")
R = TypeVar("R")


class Rota:
    """A set of task kinds and the store that keeps their tasks.

    `url` is `sqlite:///file.db` or `postgresql://…`; without it `$ROTA_URL` counts, then
    `sqlite:///rota.db`. Nothing is opened before it is needed. A SQLite file is made and migrated
    at first use; a PostgreSQL database is migrated by `rota migrate`.

    >>> app = Rota("sqlite:///docs.db")
    >>> @app.task(queue="sms", priority=2, timeout=30)
    ... async def send_result(student_id: int, phone: str) -> str:
    ...     return f"sent to {phone}"
    >>> send_result.using(tenant="board", delay="15m").bind(1, phone="+91").payload
    '{"student_id":1,"phone":"+91"}'
    """

    def __init__(self, url: str | None = None) -> None:
        self.url = url or os.environ.get(URL_VARIABLE) or DEFAULT_URL
        self.registry = Registry()
        self._client = Client(self.connect, new_rng())
        self.tasks = Tasks(self._client)

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
    def task(
        self,
        *,
        name: str | None = None,
        queue: str = "default",
        priority: int = PRIORITY_DEFAULT,
        timeout: Duration | None = None,
        retry: Backoff | None = None,
    ) -> "Decorator": ...

    def task(self, *handler: Any, **defaults: Any) -> Any:
        """Register a handler as a kind of task; `ConfigurationError` if it cannot be one.

        `timeout` is a duration after which an async handler is cancelled (R4.3).
        """
        if handler:
            return self._register(*handler)
        return lambda handler: self._register(handler, **defaults)

    def _register(
        self,
        handler: Any,
        *,
        name: str | None = None,
        queue: str = "default",
        priority: int = PRIORITY_DEFAULT,
        timeout: Duration | None = None,
        retry: Backoff | None = None,
    ) -> TaskKind[..., Any]:
        called = str(name or getattr(handler, "__name__", type(handler).__name__))
        if not callable(handler) or inspect.isclass(handler):
            raise ConfigurationError(f"task {called}: a handler must be a function")
        kind = Kind(
            declared(check_name, called, "name", called),
            handler,
            queue=declared(check_name, queue, "queue", called),
            priority=declared(check_priority, priority, "priority", called),
            timeout=None if timeout is None else declared(positive, timeout, "timeout", called),
            retry=retry,
        )
        self.registry.add(kind)
        return TaskKind(kind, handler, self._client)

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
        return self._client.submit(self.call(kind, payload, **options))

    async def asubmit(
        self, kind: str, payload: dict[str, Any], **options: Unpack[TaskOptions]
    ) -> Accepted:
        """Store one task of a kind by its name, durably."""
        return await self._client.asubmit(self.call(kind, payload, **options))

    def submit_many(self, calls: Iterable[Call]) -> Submitted:
        """Store any number of calls, streamed from any iterable, and count them (R1.3, R1.5).

        They are committed in runs of 2,000 or 4 MB, each whole or not at all; `BatchRefused` says
        which item was refused and how many before it are stored.
        """
        total = Submitted()
        for answers in self._client.submit_each(calls):
            total = total.plus(answers)
        return total

    async def asubmit_many(self, calls: Iterable[Call] | AsyncIterable[Call]) -> Submitted:
        """Do what `submit_many` does without blocking the event loop."""
        total = Submitted()
        async for answers in self._client.asubmit_each(calls):
            total = total.plus(answers)
        return total

    def submit_each(self, calls: Iterable[Call]) -> Iterator[Accepted]:
        """Store calls like `submit_many` and yield the answer to each, in order, as they come."""
        for answers in self._client.submit_each(calls):
            yield from answers

    async def asubmit_each(
        self, calls: Iterable[Call] | AsyncIterable[Call]
    ) -> AsyncIterator[Accepted]:
        """Store calls like `asubmit_many` and yield the answer to each, in order."""
        async for answers in self._client.asubmit_each(calls):
            for answer in answers:
                yield answer

    # -- wiring ---------------------------------------------------------------------------------

    def connect(self) -> Backend:
        """Return a backend of its own against the app's store, not yet open."""
        store: Store = store_for(self.url)
        return _Opening(store, SystemClock(), new_rng())

    def migrate(self) -> list[str]:
        """Bring the store's schema up to date; return the names of what was applied (R8.6)."""
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


class Decorator(Protocol):
    """The type of `@app.task(…)`: it keeps the handler's own signature for the type checker."""

    @overload
    def __call__(
        self, handler: Callable[Concatenate[Context, P], Awaitable[R]], /
    ) -> TaskKind[P, Awaitable[R]]: ...
    @overload
    def __call__(self, handler: Callable[Concatenate[Context, P], R], /) -> TaskKind[P, R]: ...
    @overload
    def __call__(self, handler: Callable[P, R], /) -> TaskKind[P, R]: ...
