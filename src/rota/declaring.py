"""Declares schedules in code, above the handlers that they run: `@app.schedule(…)` (R6.8)."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from rota.call import Call
from rota.declared import Declarations, Declared, check_schedule, work_of
from rota.errors import ConfigurationError, InvalidTask
from rota.registry import Kind
from rota.task import TaskKind

K = TypeVar("K", bound=TaskKind[..., Any])


def declared_of(
    kind: Kind | str | TaskKind[..., Any] | Call,
    expression: str | None,
    options: Mapping[str, Any],
) -> Declared:
    """Return what a schedule of a kind says; the kind's own options and payload count as given."""
    given = {**options, "expression": expression}
    if isinstance(kind, str | Kind):
        return check_schedule(kind, given)
    if isinstance(kind, Call):
        work = work_of(kind.kind, kind.payload, kind.options)
        return check_schedule(kind.kind, given, work)
    if given.get("payload") is None:
        given["payload"] = {}
    return check_schedule(kind.kind, given, work_of(kind.kind, "{}", kind.options))


def declaring(
    declarations: Declarations, expression: str | None, options: Mapping[str, Any]
) -> Callable[[K], K]:
    """Return the decorator that declares a schedule of the kind below it and leaves that as it is.

    `ConfigurationError` names what is wrong with it.
    """

    def declare(kind: K) -> K:
        if not isinstance(kind, TaskKind):
            raise ConfigurationError(
                f"@app.schedule goes above @app.task, and {getattr(kind, '__name__', kind)!s} is "
                "not a task yet: put @app.task between them"
            )
        try:
            declarations.add(declared_of(kind, expression, options))
        except InvalidTask as error:
            named = options.get("name") or kind.name
            raise ConfigurationError(f"schedule {named}: {error}") from None
        return kind

    return declare
