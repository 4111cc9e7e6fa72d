"""Exactly-once effects: what a handler writes in a transaction of its own, with the proof (R3.5).

A handler may run twice, for instance when its worker dies between its work and its report. What it
writes to the database that Rota lies in is done once nevertheless: either each effect is recorded
in the transaction that makes it, or the task is completed in that transaction.
"""

from typing import Any

from rota.config import RESULT_BYTES
from rota.errors import HandlerError, InvalidTask, LeaseLost
from rota.model import Claimed
from rota.options import check_key
from rota.payload import encode
from rota.transactions import ado, do, work


def once(connection: Any, key: str) -> bool:
    """Record an effect in the transaction of `connection`; true the first time only (R3.5).

    The record exists if that transaction commits. While another that has recorded the same key is
    open, this one waits for it: false if it commits, true if it rolls back.
    """
    return do(connection, work.once(check_key(key, "key")))


async def aonce(connection: Any, key: str) -> bool:
    """Do what `once` does on a connection that is awaited."""
    return await ado(connection, work.once(check_key(key, "key")))


def complete(connection: Any, task: Claimed, session_id: str, result: Any = None) -> None:
    """Complete a held task in the transaction of `connection`: with it, or not at all (R3.5).

    `LeaseLost` if the session does not hold the task under that fence any more; `HandlerError` if
    the result is not JSON.
    """
    if not do(connection, work.complete(task, session_id, _text(result))):
        raise LeaseLost(task.id)


async def acomplete(connection: Any, task: Claimed, session_id: str, result: Any = None) -> None:
    """Do what `complete` does on a connection that is awaited."""
    if not await ado(connection, work.complete(task, session_id, _text(result))):
        raise LeaseLost(task.id)


def _text(result: Any) -> str | None:
    if result is None:
        return None
    try:
        return encode(result, "result", most=RESULT_BYTES)
    except InvalidTask as error:
        raise HandlerError(f"the handler's {error}; return JSON values or None") from None
