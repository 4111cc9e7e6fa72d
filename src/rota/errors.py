"""Every error that Rota raises, and the four ways a handler can end on purpose.

RotaError
├── ConfigurationError      the set-up is wrong: an address, an option, a missing extra
│   ├── SchemaOutOfDate     the store has not been migrated: run `rota migrate`
│   └── AccessRefused       the server knows no such key, or the key may not do this
├── InvalidTask             refused input; `field` names what is wrong (R1.6)
│   ├── UnknownKind         no handler of that name is registered
│   ├── UnknownOption       no such option
│   └── InvalidSchedule     a schedule was refused, for instance because it never fires (R6.1)
├── ScheduleNotFound        no schedule has this name or id
├── ScheduleExists          another schedule has the name
├── ScheduleChanged         the schedule is not at the version that the change was made for
├── ScheduleBusy            an earlier run is not over, and the schedule must not overlap itself
├── Overloaded              too much waits already; nothing was stored, come back later (R1.7)
├── SettingsChanged         settings or a limit were changed by somebody else meanwhile
├── LimitNotFound           no limit has this id or scope
├── SessionNotFound         no worker's session has this id
├── AlertNotFound           no such alert rule, or no such alert that is not over
├── AlertRuleExists         another alert rule has the name
├── WebhookNotFound         no webhook has this id
├── KeyNotFound             no key has this id
├── LastAdmin               the last admin's key cannot be revoked
├── TaskNotFound            no task has this id
├── ActionNotFound          no action has this id
├── NotRetryable            the task's state does not allow `retry`
├── NotWaiting              the task runs or is over, so it cannot be amended
├── NotFinished             the task is not over, so it cannot be deleted
├── TaskFailed              the task whose result is waited for failed or was cancelled
├── MoreThanExpected        a bulk change matches more tasks than its caller had seen
├── DeadLetterSettled       a dead letter was replayed or discarded already
├── HandlerError            what a handler did wrong, for instance a result that is not JSON
├── HandlerTimedOut         what `on_failure` is told of a run that its hard time limit ended
├── ProcessDied             the process in which a handler ran is gone; its attempt failed
└── StoreError              the store refused or failed
    ├── StoreUnavailable    out of reach for now; nothing is known to be lost, try again
    ├── StoreFull           no room left on its disk; nothing of the call was stored
    ├── SessionGone         the worker's session is over; what it held runs elsewhere
    ├── ClaimSuperseded     a newer claim of the session stands
    └── KeyBusy             a transaction that is still open has the key; nothing was stored

Outcome (not a RotaError)   raised by a handler to end its run on purpose (R4.2)
├── Retry    ├── Snooze    ├── Fail    └── Cancel

Interrupt (no Exception)    raised in a handler from outside; no `except Exception` swallows it
├── CancelRequested         the task is asked to stop (R5.2)
├── SoftTimeout             the soft time limit is over (R4.3); in rota.context
└── LeaseLost               the task is not this run's any more (R3.2)
"""

from datetime import datetime, timedelta


class RotaError(Exception):
    """The base of every error that Rota raises."""


class ConfigurationError(RotaError):
    """The set-up is wrong; the message says what to change."""


class SchemaOutOfDate(ConfigurationError):
    """The store's schema is not the one this version needs; run `rota migrate`."""


class AccessRefused(ConfigurationError):
    """The server knows no such key, or the key may not do this; nothing was changed."""


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


class InvalidSchedule(InvalidTask):
    """A schedule was refused and nothing was stored; `field` names what is wrong (R6.1)."""


class KeyNotFound(RotaError):
    """No key has this id (any more)."""

    def __init__(self, key_id: str) -> None:
        super().__init__(f"no key has the id {key_id!r}; rota keys list tells the ids")
        self.key_id = key_id


class LastAdmin(RotaError):
    """The last admin's key cannot be revoked: nobody could make another one over HTTP."""

    def __init__(self, key_id: str) -> None:
        super().__init__(
            f"{key_id} is the last admin's key; make another one first: "
            "rota keys create NAME --role admin"
        )
        self.key_id = key_id


class ScheduleNotFound(RotaError):
    """No schedule has this name or id (any more)."""

    def __init__(self, name: str, hint: str = "") -> None:
        super().__init__(f"no schedule has the name or id {name!r}{hint}")
        self.name = name


class ScheduleExists(RotaError):
    """Another schedule has the name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"a schedule with the name {name!r} exists already; change or delete it")
        self.name = name


class ScheduleChanged(RotaError):
    """The schedule was changed meanwhile; nothing was changed by this call."""

    def __init__(self, name: str) -> None:
        super().__init__(f"schedule {name!r} was changed by somebody else; read it and try again")
        self.name = name


class ScheduleBusy(RotaError):
    """A run is not over, and the schedule must not overlap itself; nothing was started."""

    def __init__(self, name: str, live: int) -> None:
        super().__init__(
            f"schedule {name!r} has {live} {'run' if live == 1 else 'runs'} that are not over "
            "and must not overlap itself; wait for them, cancel them, or start it with force"
        )
        self.name = name


class Overloaded(RotaError):
    """Too many tasks wait already; nothing was stored. Come back after `retry_after` seconds."""

    def __init__(self, what: str, waiting: int, most: int, retry_after: float) -> None:
        super().__init__(
            f"{what} has {waiting:,} tasks waiting of at most {most:,}; nothing was stored, "
            f"try again in {retry_after:.0f} s, or submit with a higher priority"
        )
        self.what = what
        self.retry_after = retry_after


class SettingsChanged(RotaError):
    """The settings were changed by somebody else meanwhile; nothing was changed by this call."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} was changed by somebody else; read it and try again")


class LimitNotFound(RotaError):
    """There is no limit with this id or scope."""

    def __init__(self, what: str) -> None:
        super().__init__(f"there is no limit for {what}")


class SessionNotFound(RotaError):
    """No worker's session has this id (any more)."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"no session has the id {session_id!r:.80}; see: rota sessions list")


class AlertNotFound(RotaError):
    """There is no such alert rule, or no such alert that is not over."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(f"there is no {what}{hint}")


class AlertRuleExists(RotaError):
    """Another alert rule has the name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"an alert rule with the name {name!r} exists already; change it instead")
        self.name = name


class WebhookNotFound(RotaError):
    """There is no webhook with this id."""

    def __init__(self, webhook_id: str) -> None:
        super().__init__(f"there is no webhook with the id {webhook_id!r}")
        self.webhook_id = webhook_id


class TaskNotFound(RotaError):
    """No task has this id (any more)."""

    def __init__(self, task_id: str, problem: str = "") -> None:
        super().__init__(problem or f"no task has the id {task_id!r}")
        self.task_id = task_id


class NotRetryable(RotaError):
    """The task is in a state from which it cannot be retried."""

    def __init__(self, task_id: str, state: str) -> None:
        super().__init__(
            f"task {task_id} is {state}; only failed and scheduled tasks can be retried"
        )
        self.task_id = task_id
        self.state = state


class ActionNotFound(RotaError):
    """No action has this id (any more): they are kept for 30 days after their end."""

    def __init__(self, action_id: str) -> None:
        super().__init__(f"no action has the id {action_id!r}; see: rota actions list")
        self.action_id = action_id


class NotWaiting(RotaError):
    """The task runs or is over; only what waits can be amended."""

    def __init__(self, task_id: str, state: str) -> None:
        super().__init__(f"task {task_id} is {state}; only scheduled and ready ones can be amended")
        self.task_id = task_id
        self.state = state


class NotFinished(RotaError):
    """The task is not over; only what is can be deleted."""

    def __init__(self, task_id: str, state: str) -> None:
        super().__init__(f"task {task_id} is {state}; cancel it first, and delete it once it ended")
        self.task_id = task_id
        self.state = state


class TaskFailed(RotaError):
    """The task will not have a result: it failed or was cancelled; `error` is its last error."""

    def __init__(
        self, task_id: str, state: str, error_type: str = "", error: str = "", traceback: str = ""
    ) -> None:
        why = ": ".join(filter(None, (error_type, error)))
        super().__init__(f"task {task_id} {_ENDED.get(state, state)}{f': {why}' if why else ''}")
        self.task_id = task_id
        self.state = state
        self.error_type = error_type
        self.error = error
        self.traceback = traceback


_ENDED = {"cancelled": "was cancelled"}


class MoreThanExpected(RotaError):
    """A bulk change would meet more tasks than its caller expects; nothing was changed."""

    def __init__(self, expected: int) -> None:
        super().__init__(f"more than {expected:,} tasks match; nothing was changed. Look again")
        self.expected = expected


class DeadLetterSettled(RotaError):
    """The dead letter was replayed or discarded already and cannot be changed any more."""

    def __init__(self, task_id: str, how: str) -> None:
        super().__init__(f"dead letter {task_id} {how}")
        self.task_id = task_id


class HandlerError(RotaError):
    """A handler broke a rule of its contract; running it again would not help."""


class HandlerTimedOut(RotaError):
    """A run went on beyond its hard time limit and was ended (R4.3)."""


class ProcessDied(RotaError):
    """The process in which a handler ran ended before the handler did (R8.2)."""


class StoreError(RotaError):
    """The store refused or failed a call."""


class StoreUnavailable(StoreError):
    """The store is out of reach for now; the outcome of the call is not known."""


class StoreFull(StoreError):
    """The store's disk is full; nothing of the call was stored."""


class SessionGone(StoreError):
    """The session is over, and with it all that it held: its tasks run elsewhere."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"session {session_id} is over; open a new one")
        self.session_id = session_id


class ClaimSuperseded(StoreError):
    """A newer claim of the session has taken this one's place, or it was repeated elsewhere."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"a newer claim of session {session_id} stands")
        self.session_id = session_id


class KeyBusy(StoreError):
    """A transaction that is still open has the key; nothing of the call was stored."""

    def __init__(self) -> None:
        super().__init__("a key is held by a transaction that is still open; try again later")


class Outcome(Exception):
    """A handler ends its run on purpose by raising one of these (R4.2)."""


class Retry(Outcome):
    """Run again later; the attempt counts.

    `after` is a delay (seconds or `timedelta`) that is obeyed as it stands, for instance from a
    server's `Retry-After`; without it the task's own backoff decides, but not for less than
    `least`.
    """

    def __init__(
        self,
        message: str = "",
        *,
        after: float | timedelta | None = None,
        least: float | timedelta | None = None,
    ) -> None:
        super().__init__(message or "the handler asked for a retry")
        self.after = after
        self.least = least


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


class Interrupt(BaseException):
    """Raised in a handler from outside it: clean up and let it pass."""


class CancelRequested(Interrupt):
    """The task is asked to stop; raised by `ctx.check()` (R5.2)."""

    def __init__(self, message: str = "cancelled by request") -> None:
        super().__init__(message)


class LeaseLost(Interrupt):
    """The run does not hold its task any more; whatever it still does may be done twice (R3.2)."""

    def __init__(self, task_id: str, why: str = "it is not held by this run any more") -> None:
        super().__init__(f"task {task_id}: {why}")
        self.task_id = task_id
