"""Every error that Rota raises, and the four ways a handler can end on purpose.

RotaError
├── ConfigurationError      the set-up is wrong: an address, an option, a missing extra
│   └── SchemaOutOfDate     the store has not been migrated: run `rota migrate`
├── InvalidTask             refused input; `field` names what is wrong (R1.6)
│   ├── UnknownKind         no handler of that name is registered
│   └── UnknownOption       no such option
├── TaskNotFound            no task has this id
├── NotRetryable            the task's state does not allow `retry`
├── HandlerError            what a handler did wrong, for instance a result that is not JSON
└── StoreError              the store refused or failed
    ├── StoreUnavailable    out of reach for now; nothing is known to be lost, try again
    └── StoreFull           no room left on its disk; nothing of the call was stored

Outcome (not a RotaError)   raised by a handler to end its run on purpose (R4.2)
├── Retry    ├── Snooze    ├── Fail    └── Cancel
"""

from datetime import datetime, timedelta


class RotaError(Exception):
    """The base of every error that Rota raises."""


class ConfigurationError(RotaError):
    """The set-up is wrong; the message says what to change."""


class SchemaOutOfDate(ConfigurationError):
    """The store's schema is not the one this version needs; run `rota migrate`."""


class InvalidTask(RotaError):
    """A task was refused and nothing was stored; `field` names what is wrong (R1.6)."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class UnknownKind(InvalidTask):
    """No handler is registered under this kind."""

    def __init__(self, kind: str, hint: str = "") -> None:
        super().__init__("kind", f"{kind!r} is not registered{hint}")
        self.kind = kind


class UnknownOption(InvalidTask):
    """There is no option of this name."""


class TaskNotFound(RotaError):
    """No task has this id (any more)."""

    def __init__(self, task_id: str) -> None:
        super().__init__(f"no task has the id {task_id!r}")
        self.task_id = task_id


class NotRetryable(RotaError):
    """The task is in a state from which it cannot be retried."""

    def __init__(self, task_id: str, state: str) -> None:
        super().__init__(
            f"task {task_id} is {state}; only failed and scheduled tasks can be retried"
        )
        self.task_id = task_id
        self.state = state


class HandlerError(RotaError):
    """A handler broke a rule of its contract; running it again would not help."""


class StoreError(RotaError):
    """The store refused or failed a call."""


class StoreUnavailable(StoreError):
    """The store is out of reach for now; the outcome of the call is not known."""


class StoreFull(StoreError):
    """The store's disk is full; nothing of the call was stored."""


class Outcome(Exception):
    """A handler ends its run on purpose by raising one of these (R4.2)."""


class Retry(Outcome):
    """Run again later; the attempt counts.

    `after` is a delay (seconds or `timedelta`) that is obeyed as it stands, for instance from a
    server's `Retry-After`; without it the task's own backoff decides.
    """

    def __init__(self, message: str = "", *, after: float | timedelta | None = None) -> None:
        super().__init__(message or "the handler asked for a retry")
        self.after = after


class Snooze(Outcome):
    """Not now: run again later; no attempt is spent."""

    def __init__(
        self, after: float | timedelta | None = None, *, until: datetime | None = None
    ) -> None:
        super().__init__("the handler snoozed")
        if (after is None) == (until is None):
            raise ConfigurationError("Snooze takes either a delay or until=, not both")
        self.after = after
        self.until = until


class Fail(Outcome):
    """Give up now: the task becomes a dead letter whatever attempts are left."""

    def __init__(self, message: str = "the handler gave up") -> None:
        super().__init__(message)


class Cancel(Outcome):
    """The work is no longer wanted: the task ends as cancelled, not as failed."""

    def __init__(self, message: str = "cancelled by its handler") -> None:
        super().__init__(message)
