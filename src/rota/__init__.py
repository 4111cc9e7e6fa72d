"""Rota: a durable, fair, distributed task scheduler.

>>> from rota import Backoff, Context, Rota
"""

from rota import effects
from rota.app import Rota
from rota.call import Call
from rota.client import BatchRefused, Submitted
from rota.context import Context, SoftTimeout
from rota.errors import (
    Cancel,
    CancelRequested,
    ConfigurationError,
    DeadLetterSettled,
    Fail,
    InvalidTask,
    LeaseLost,
    MoreThanExpected,
    NotRetryable,
    ProcessDied,
    Retry,
    RotaError,
    SchemaOutOfDate,
    Snooze,
    StoreError,
    StoreFull,
    StoreUnavailable,
    TaskFailed,
    TaskNotFound,
    UnknownKind,
    UnknownOption,
)
from rota.model import Accepted, CancelOutcome, State, Task
from rota.policy.retry import Backoff
from rota.task import TaskKind

__version__ = "0.1.0"

__all__ = [
    "Accepted",
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
    "InvalidTask",
    "LeaseLost",
    "MoreThanExpected",
    "NotRetryable",
    "ProcessDied",
    "Retry",
    "Rota",
    "RotaError",
    "SchemaOutOfDate",
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
    "effects",
]
