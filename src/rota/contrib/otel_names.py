"""The names of attributes, in one place: the conventions for messaging are still in development."""

from typing import Any

from msgspec import Struct

from rota.clock import wall
from rota.model import Claimed

SYSTEM = "messaging.system"
OPERATION = "messaging.operation.name"
OPERATION_TYPE = "messaging.operation.type"
DESTINATION = "messaging.destination.name"
MESSAGE_ID = "messaging.message.id"
BATCH_COUNT = "messaging.batch.message_count"
ERROR_TYPE = "error.type"
KIND = "rota.kind"
ATTEMPT = "rota.attempt"
FENCE = "rota.fence"
SCHEDULE = "rota.schedule"
OUTCOME = "rota.outcome"


class Operation(Struct, frozen=True):
    """What a span stands for: the word of Rota, and the type by the conventions."""

    name: str
    type: str


SEND = Operation("send", "send")
RECEIVE = Operation("receive", "receive")
PROCESS = Operation("process", "process")
SETTLE = Operation("settle", "settle")


def of(operation: Operation, queue: str | None) -> dict[str, Any]:
    """Return the attributes that every span of an operation has."""
    attributes: dict[str, Any] = {
        SYSTEM: "rota",
        OPERATION: operation.name,
        OPERATION_TYPE: operation.type,
    }
    if queue is not None:
        attributes[DESTINATION] = queue
    return attributes


def of_run(task: Claimed) -> dict[str, Any]:
    """Return the attributes of one attempt: never a payload, a header or an error's text (S11)."""
    attributes: dict[str, Any] = {
        MESSAGE_ID: task.id,
        KIND: task.kind,
        ATTEMPT: task.attempt,
        FENCE: task.fence,
    }
    if task.schedule is not None:
        attributes[SCHEDULE] = task.schedule
    return attributes


def nanoseconds() -> int:
    """Return the present instant as spans are dated: by the clock of this machine."""
    return wall() * 1000
