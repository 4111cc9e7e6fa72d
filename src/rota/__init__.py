"""Rota: a durable, fair, distributed task scheduler.

>>> from rota import Backoff, Context, Rota
"""

from rota import effects
from rota.app import Rota
from rota.call import Call
from rota.client import BatchRefused, Submitted
from rota.context import Context, SoftTimeout
from rota.errors import (
    ActionNotFound,
    AlertNotFound,
    AlertRuleExists,
    Cancel,
    CancelRequested,
    ConfigurationError,
    DeadLetterSettled,
    Fail,
    InvalidSchedule,
    InvalidTask,
    LeaseLost,
    LimitNotFound,
    MoreThanExpected,
    NotFinished,
    NotRetryable,
    NotWaiting,
    Overloaded,
    ProcessDied,
    Retry,
    RotaError,
    ScheduleBusy,
    ScheduleChanged,
    ScheduleExists,
    ScheduleNotFound,
    SchemaOutOfDate,
    SettingsChanged,
    Snooze,
    StoreError,
    StoreFull,
    StoreUnavailable,
    TaskFailed,
    TaskNotFound,
    UnknownKind,
    UnknownOption,
    WebhookNotFound,
)
from rota.model import Accepted, CancelOutcome, State, Task
from rota.policy.calendar import Occurrence
from rota.policy.retry import Backoff
from rota.schedule import Schedule, Slot, SlotState
from rota.schedule_runs import BackfillReport
from rota.task import TaskKind

__version__ = "0.1.0"

__all__ = [
    "Accepted",
    "ActionNotFound",
    "AlertNotFound",
    "AlertRuleExists",
    "BackfillReport",
    "Backoff",
    "BatchRefused",
    "Call",
    "Cancel",
    "CancelOutcome",
    "CancelRequested",
    "ConfigurationError",
    "Context",
    "DeadLetterSettled",
    "Fail",
    "InvalidSchedule",
    "InvalidTask",
    "LeaseLost",
    "LimitNotFound",
    "MoreThanExpected",
    "NotFinished",
    "NotRetryable",
    "NotWaiting",
    "Occurrence",
    "Overloaded",
    "ProcessDied",
    "Retry",
    "Rota",
    "RotaError",
    "Schedule",
    "ScheduleBusy",
    "ScheduleChanged",
    "ScheduleExists",
    "ScheduleNotFound",
    "SchemaOutOfDate",
    "SettingsChanged",
    "Slot",
    "SlotState",
    "Snooze",
    "SoftTimeout",
    "State",
    "StoreError",
    "StoreFull",
    "StoreUnavailable",
    "Submitted",
    "Task",
    "TaskFailed",
    "TaskKind",
    "TaskNotFound",
    "UnknownKind",
    "UnknownOption",
    "WebhookNotFound",
    "effects",
]
