"""How a kind is declared: what `@app.task(…)` takes, checked and named in errors."""

import inspect
from typing import Any, Literal, TypedDict, Unpack

from rota.config import PRIORITY_DEFAULT
from rota.errors import ConfigurationError
from rota.model import Micros
from rota.options import (
    check_concurrency,
    check_gate,
    check_key,
    check_priority,
    declared,
    positive,
)
from rota.policy.retry import Backoff
from rota.registry import Executor, Kind, check_name
from rota.rules import Rules
from rota.times import Duration

Cancellable = Literal["await", "check"]

_EXECUTORS = ("async", "thread", "process")
_CANCELLABLE = ("await", "check")


class _Others(TypedDict, total=False):
    retry: Backoff | None
    retry_on: Rules
    fail_on: Rules
    keep: bool


class KindOptions(_Others, total=False):
    """What `@app.task(…)` takes; docs/reference/options.md tells what each means."""

    name: str | None
    queue: str
    priority: int
    timeout: Duration | None
    soft_timeout: Duration | None
    executor: Executor | None
    cancellable: Cancellable
    concurrency_key: str | None
    max_concurrency: int | None


def make_kind(
    handler: Any,
    *,
    name: str | None = None,
    queue: str = "default",
    priority: int = PRIORITY_DEFAULT,
    timeout: Duration | None = None,
    soft_timeout: Duration | None = None,
    executor: Executor | None = None,
    cancellable: Cancellable = "await",
    concurrency_key: str | None = None,
    max_concurrency: int | None = None,
    **others: Unpack[_Others],
) -> Kind:
    """Return the kind that a handler is declared as; `ConfigurationError` says what is wrong."""
    called = str(name or getattr(handler, "__name__", type(handler).__name__))
    if not callable(handler) or inspect.isclass(handler):
        raise ConfigurationError(f"task {called}: a handler must be a function")
    if executor is not None:
        _one_of(_EXECUTORS, executor, "executor", called)
    _one_of(_CANCELLABLE, cancellable, "cancellable", called)
    of = f"task {called}"
    hard = _limit(timeout, "timeout", of)
    soft = _limit(soft_timeout, "soft_timeout", of)
    if soft is not None and hard is not None and soft >= hard:
        raise ConfigurationError(f"task {called}: soft_timeout must be shorter than timeout")
    key, room = _gate(concurrency_key, max_concurrency, of)
    return Kind(
        declared(check_name, called, "name", of),
        handler,
        queue=declared(check_name, queue, "queue", of),
        priority=declared(check_priority, priority, "priority", of),
        timeout=hard,
        soft_timeout=soft,
        executor=executor,
        cancellable=cancellable == "await",
        concurrency_key=key,
        max_concurrency=room,
        **others,
    )


def _gate(key: str | None, most: int | None, of: str) -> tuple[str | None, int | None]:
    declared(lambda room, _: check_gate(key, room), most, "max_concurrency", of)
    if key is None:
        return None, None
    room = 1 if most is None else declared(check_concurrency, most, "max_concurrency", of)
    return declared(check_key, key, "concurrency_key", of), room


def _limit(value: Duration | None, field: str, of: str) -> Micros | None:
    return None if value is None else declared(positive, value, field, of)


def _one_of(known: tuple[str, ...], value: str, field: str, kind: str) -> None:
    if value not in known:
        raise ConfigurationError(
            f"task {kind}: {field} must be one of {', '.join(known)}, not {value!r}"
        )
