"""The kinds of task that a program knows: the allow-list of what can ever be run (case B176)."""

import difflib
import inspect
import re
from collections.abc import Callable, Collection, Iterator
from typing import Any, Literal

from rota.arguments import Arguments
from rota.config import NAME_PATTERN, PRIORITY_DEFAULT
from rota.errors import ConfigurationError, InvalidTask, UnknownKind
from rota.hooks import Hooks
from rota.model import Micros
from rota.policy.retry import Backoff
from rota.rules import Rules, Verdicts
from rota.tracing import Tracer

Executor = Literal["async", "thread", "process"]
"""Where a handler runs: on the worker's event loop, in a thread, in a process of a pool (R8.2)."""

_NAME = re.compile(NAME_PATTERN)


def check_name(value: object, field: str) -> str:
    """Return a name of a kind, queue or tenant; `InvalidTask` if it cannot be one."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise InvalidTask(
            field,
            f"{value!r:.80} is no name; take 1 to 128 letters, digits, '.', '_' or '-', "
            "beginning with a letter or digit",
        )
    return value


class Kind:
    """A registered kind: its handler, how that is run, and the defaults of its tasks.

    `cancellable` says whether a request to stop cancels an async handler, or is only there for it
    to see (R5.2). With `keep` False its completed tasks leave no row (R9.5). Its tasks share the
    gate `concurrency_key`, which has room for `max_concurrency`, unless they name another. A kind
    that is `opt_in` is run only by workers that allow it by name.
    """

    def __init__(
        self,
        name: str,
        handler: Callable[..., Any],
        *,
        queue: str = "default",
        priority: int = PRIORITY_DEFAULT,
        timeout: Micros | None = None,
        retry: Backoff | None = None,
        executor: Executor | None = None,
        soft_timeout: Micros | None = None,
        cancellable: bool = True,
        retry_on: Rules = (),
        fail_on: Rules = (),
        keep: bool = True,
        concurrency_key: str | None = None,
        max_concurrency: int | None = None,
        opt_in: bool = False,
    ) -> None:
        self.name = check_name(name, "name")
        self.handler = handler
        self.queue = queue
        self.priority = priority
        self.timeout = timeout
        self.soft_timeout = soft_timeout
        self.retry = retry or Backoff()
        self.verdicts = Verdicts(retry_on, fail_on)
        self.cancellable = cancellable
        self.keep = keep
        self.concurrency_key = concurrency_key
        self.max_concurrency = max_concurrency
        self.opt_in = opt_in
        self.arguments = Arguments(name, handler)
        self.is_async = inspect.iscoroutinefunction(handler)
        self.executor: Executor = executor or ("async" if self.is_async else "thread")
        self.hooks = Hooks()
        _check_executor(self)
        # Most kinds need nothing around their handler; the worker has a short way for them.
        self.direct = self.is_async and soft_timeout is None and not self.arguments.resources


def _check_executor(kind: Kind) -> None:
    if kind.is_async != (kind.executor == "async"):
        raise ConfigurationError(
            f"task {kind.name}: an async function runs on the event loop, a plain one in a thread "
            f"or a process, so executor={kind.executor!r} does not fit"
        )


class Registry:
    """The kinds of one app, by name, and who is told of their runs: hooks, and a tracer."""

    def __init__(self) -> None:
        self._kinds: dict[str, Kind] = {}
        self.hooks = Hooks()
        self.tracer: Tracer | None = None

    def add(self, kind: Kind) -> None:
        """Register a kind; `ConfigurationError` if the name is taken by another handler."""
        if kind.name in self._kinds:
            raise ConfigurationError(
                f"task {kind.name} is registered twice; give one of them name='…'"
            )
        self._kinds[kind.name] = kind
        kind.hooks = self.hooks

    def __getitem__(self, name: str) -> Kind:
        try:
            return self._kinds[name]
        except KeyError:
            raise UnknownKind(name, did_you_mean(name, self._kinds)) from None

    def get(self, name: str) -> Kind | None:
        """Return the kind of this name, or None."""
        return self._kinds.get(name)

    def __contains__(self, name: object) -> bool:
        return name in self._kinds

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._kinds.values())

    def runnable(self, allowed: Collection[str]) -> "Registry":
        """Return the kinds that a worker runs: of those that are `opt_in`, the ones named here."""
        for name in allowed:
            self[name]  # one that is not there is a mistake
        chosen = Registry()
        chosen.hooks = self.hooks
        chosen.tracer = self.tracer
        chosen._kinds = {k.name: k for k in self if not k.opt_in or k.name in allowed}
        return chosen

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all kinds, sorted."""
        return tuple(sorted(self._kinds))

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues that the kinds go to by default, sorted."""
        return tuple(sorted({kind.queue for kind in self}))


def did_you_mean(name: str, known: Any) -> str:
    """Return a hint at the known name that comes closest, or ""."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
