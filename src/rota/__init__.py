"""Rota: a durable, fair, distributed task scheduler.

>>> from rota import Backoff, Context, Rota
"""

from rota.app import Rota
from rota.call import Call
from rota.client import BatchRefused, Submitted
from rota.context import Context
from rota.errors import (
    Cancel,
    ConfigurationError,
    Fail,
    InvalidTask,
    NotRetryable,
    Retry,
    RotaError,
    SchemaOutOfDate,
    Snooze,
    StoreError,
    StoreFull,
    StoreUnavailable,
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
    "ConfigurationError",
    "Context",
    "Fail",
    "InvalidTask",
    "NotRetryable",
    "Retry",
    "Rota",
    "RotaError",
    "SchemaOutOfDate",
    "Snooze",
    "State",
    "StoreError",
    "StoreFull",
    "StoreUnavailable",
    "Submitted",
    "Task",
    "TaskKind",
    "TaskNotFound",
    "UnknownKind",
    "UnknownOption",
]
