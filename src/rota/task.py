"""A registered kind as its users see it: to submit, to bind, to split a large input over."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, Unpack, overload

import msgspec

from rota.call import Call
from rota.client import Client
from rota.config import KEY_CHARS
from rota.context import Context
from rota.errors import ConfigurationError, InvalidTask
from rota.model import Accepted
from rota.options import DEFAULTS, Options, TaskOptions, check_options
from rota.registry import Kind

P = ParamSpec("P")
R = TypeVar("R")

CHUNK = 500
"""How many items one task of a split batch carries unless told otherwise (R1.5)."""


class TaskKind(Generic[P, R]):
    """What `@app.task` makes of a handler; calling it runs the handler here and now.

    >>> from rota import Rota
    >>> app = Rota("sqlite:///docs.db")
    >>> @app.task
    ... def add(a: int, b: int) -> int:
    ...     return a + b
    >>> add(1, 2)
    3
    >>> add.bind(1, b=2).payload
    '{"a":1,"b":2}'
    """

    def __init__(
        self,
        kind: Kind,
        handler: Callable[..., R],
        client: Client,
        options: Options = DEFAULTS,
        connection: Any = None,
    ) -> None:
        self.kind = kind
        self.handler = handler
        self._client = client
        self._options = options
        self._connection = connection
        self.__doc__ = handler.__doc__

    @property
    def name(self) -> str:
        """The name under which the kind is registered."""
        return self.kind.name

    @property
    def options(self) -> Options:
        """How its tasks differ from the kind's defaults: what `using(…)` was given."""
        return self._options

    def __call__(self, *args: Any, **kwargs: Any) -> R:
        """Run the handler here and now, without Rota; for tests and for plain reuse."""
        return self.handler(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<task {self.kind.name}>"

    def using(self, **options: Unpack[TaskOptions]) -> "TaskKind[P, R]":
        """Return the same kind with options for what is submitted through it.

        `InvalidTask` names an option that is wrong; see `rota.options.TaskOptions` for them all.
        With `connection` tasks are submitted in the transaction of that connection: they exist
        when it commits, and never if it does not (R1.3).
        """
        connection = options.pop("connection", self._connection)
        checked = check_options(options, self._options)
        return TaskKind(self.kind, self.handler, self._client, checked, connection)

    def bind(self, *args: P.args, **kwargs: P.kwargs) -> Call:
        """Return a checked call that has not been stored yet, for `submit_many`."""
        self._no_connection("bind")
        return self._call(*args, **kwargs)

    def _call(self, *args: P.args, **kwargs: P.kwargs) -> Call:
        return Call(self.kind, self.kind.arguments.encode(args, kwargs), self._options)

    def submit(self, *args: P.args, **kwargs: P.kwargs) -> Accepted:
        """Store one task and return when it is durable (R1.2); blocks, from any thread.

        `InvalidTask` if it was refused, `StoreUnavailable` if the store stayed away.
        """
        return self._client.submit(self._call(*args, **kwargs), self._connection)

    async def asubmit(self, *args: P.args, **kwargs: P.kwargs) -> Accepted:
        """Store one task and return when it is durable (R1.2), without blocking the event loop."""
        return await self._client.asubmit(self._call(*args, **kwargs), self._connection)

    def _no_connection(self, verb: str) -> None:
        # A call does not carry it, and a task that is silently stored outside of the transaction
        # is the one thing that must not happen.
        if self._connection is not None:
            raise ConfigurationError(
                f"{verb} makes calls that carry no connection; give it to what stores them: "
                "app.submit_many(…, connection=…)"
            )

    def split(
        self, items: Iterable[Any], *, into: str | None = None, size: int = CHUNK, **common: Any
    ) -> Iterator[Call]:
        """Cut a large input into calls of `size` items each, lazily (R1.5).

        `into` names the parameter that takes the list of items; by default the only one that
        `common` leaves open. With a key each call gets one of its own (`key/0`, `key/1`, …), so
        that the same batch handed in twice makes its tasks once, if it is cut alike.

        >>> from rota import Rota
        >>> app = Rota("sqlite:///docs.db")
        >>> @app.task
        ... def send(students: list[int], exam: str) -> None: ...
        >>> [call.payload for call in send.split(range(3), size=2, exam="2026")]
        ['{"students":[0,1],"exam":"2026"}', '{"students":[2],"exam":"2026"}']
        """
        self._no_connection("split")
        if size < 1:
            raise ConfigurationError(f"split: size must be at least 1, not {size}")
        return self._split(iter(items), into or self._open_name(common), size, common)

    def _split(
        self, source: Iterator[Any], into: str, size: int, common: Mapping[str, Any]
    ) -> Iterator[Call]:
        index = 0
        while chunk := list(islice(source, size)):
            payload = self.kind.arguments.encode((), {into: chunk, **common})
            yield Call(self.kind, payload, self._keyed(index))
            index += 1

    def _open_name(self, common: Mapping[str, Any]) -> str:
        unset = [name for name in self.kind.arguments.names if name not in common]
        if len(unset) != 1:
            raise ConfigurationError(
                f"task {self.name}: say which parameter takes the items, into='…'; "
                f"open are: {', '.join(unset) or 'none'}"
            )
        return unset[0]

    def _keyed(self, index: int) -> Options:
        if self._options.key is None:
            return self._options
        key = f"{self._options.key}/{index}"
        if len(key) > KEY_CHARS:
            raise InvalidTask("key", f"is too long to be numbered ({KEY_CHARS} characters at most)")
        return msgspec.structs.replace(self._options, key=key)


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
