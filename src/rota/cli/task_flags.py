"""The options of `rota submit` that say how a task differs from the defaults of its kind."""

from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from rota.cli.options import spoken_duration, whole
from rota.cli.pairs import headers_of
from rota.config import CONCURRENCY_MOST, PRIORITY_LOWEST
from rota.options import Options, check_options
from rota.policy.retry import Backoff
from rota.registry import Kind

_DURATIONS = ("delay", "timeout", "key_window", "expires_in")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TaskFlags:
    """What was typed, not yet checked; None and empty are left to the kind."""

    queue: Annotated[str | None, Parameter(help="Queue, if not the kind's own.")] = None
    tenant: Annotated[str | None, Parameter(help="On whose behalf.")] = None
    priority: Annotated[
        int | None,
        Parameter(help="0 (highest) to 10 (lowest).", converter=whole(0, PRIORITY_LOWEST)),
    ] = None
    delay: Annotated[str | None, Parameter(help="Run after this: 900, 15m, 1h30m.")] = None
    run_at: Annotated[str | None, Parameter(help="Run at: 2026-11-30T10:00:00Z.")] = None
    timeout: Annotated[str | None, Parameter(help="How long a run may take.")] = None
    key: Annotated[str | None, Parameter(help="The same key again finds this task again.")] = None
    key_window: Annotated[str | None, Parameter(help="How long it does; a day if not given.")] = (
        None
    )
    expires_in: Annotated[str | None, Parameter(help="Not started by then: cancelled.")] = None
    max_attempts: Annotated[
        int | None, Parameter(help="How often to try in all.", converter=whole(1))
    ] = None
    tag: Annotated[tuple[str, ...], Parameter(help="A tag; may be repeated.")] = ()
    header: Annotated[
        tuple[str, ...], Parameter(help="A header, k=v; may be repeated.", metavar="K=V")
    ] = ()
    concurrency_key: Annotated[
        str | None, Parameter(help="A gate: tasks with the same key run one at a time.")
    ] = None
    max_concurrency: Annotated[
        int | None,
        Parameter(help="Or so many of them at once.", converter=whole(1, CONCURRENCY_MOST)),
    ] = None

    def check(self) -> Options:
        """Return the options but for `max_attempts`; `InvalidTask` names one that is wrong."""
        given: dict[str, Any] = {
            "queue": self.queue,
            "tenant": self.tenant,
            "priority": self.priority,
            "delay": self.delay,
            "run_at": self.run_at,
            "timeout": self.timeout,
            "key": self.key,
            "key_window": self.key_window,
            "expires_in": self.expires_in,
            "tags": self.tag or None,
            "headers": headers_of(self.header) or None,
            "concurrency_key": self.concurrency_key,
            "max_concurrency": self.max_concurrency,
        }
        options = {name: value for name, value in given.items() if value is not None}
        for name in options.keys() & set(_DURATIONS):
            options[name] = spoken_duration(options[name])
        return check_options(options)

    def with_attempts(self, options: Options, kind: Kind | None) -> Options:
        """Return the options with the kind's own retry policy, but `max_attempts` if given."""
        if self.max_attempts is None:
            return options
        own = kind.retry if kind else Backoff()
        policy = msgspec.structs.replace(own, max_attempts=self.max_attempts)
        return check_options({"retry": policy}, options)


TASK_FLAGS = TaskFlags()
