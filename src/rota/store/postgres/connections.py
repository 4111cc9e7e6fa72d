"""The store's connections: few, each with a role of its own, opened when it is first used."""

import asyncio
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import TypeVar

from rota.errors import StoreUnavailable
from rota.store.postgres.address import ANSWER_SECONDS, CONNECT_SECONDS, Address
from rota.store.postgres.faults import driver_errors, repeatable, translated
from rota.store.postgres.statements import Connection

T = TypeVar("T")

TRIES = 5
"""How often a verb is done again after a deadlock or a clash of transactions."""

COMMON = {
    "application_name": "rota",
    "jit": "off",
    "statement_timeout": "30s",
    "idle_in_transaction_session_timeout": "30s",
    # What others have committed must be seen by the next statement of a function (`rota.admit`).
    "default_transaction_isolation": "read committed",
}
MIGRATION = {"application_name": "rota", "jit": "off"}
"""A migration may take long; a connection with these waits for it."""
# The hot verbs are written for one plan each, which looks up by index. A plan is kept for long, and
# one that was made while the tables were empty would else read all of them once they are full.
HOT = COMMON | {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "max_parallel_workers_per_gather": "0",
}
# All others are planned for what the tables hold at that moment.
_FRESH = COMMON | {"plan_cache_mode": "force_custom_plan"}

# What is pruned is looked for by index, or in the pages that a summary points to.
PRUNE = _FRESH | {"enable_seqscan": "off"}


class Role(StrEnum):
    """What a connection is for."""

    CLAIM = "claim"
    FINISH = "finish"
    SUBMIT = "submit"
    DUTY = "duty"
    FIRE = "fire"
    CALL = "call"
    READ = "read"
    HINT = "hint"


_SETTINGS = {
    Role.CLAIM: HOT,
    Role.FINISH: HOT,
    Role.SUBMIT: HOT,
    Role.DUTY: _FRESH | {"enable_seqscan": "off"},
    # Apart from the duties: ten thousand schedules of one minute must not hold up staging.
    Role.FIRE: HOT,
    # Apart from the duties: callers may have to wait for each other, and staging must not.
    Role.CALL: _FRESH | {"enable_seqscan": "off"},
    Role.READ: _FRESH,
    Role.HINT: COMMON | {"synchronous_commit": "off"},
}
_LINES = {Role.FINISH: 2, Role.SUBMIT: 2, Role.READ: 2}


class Line:
    """One connection, used by one verb at a time, and made anew after it broke."""

    def __init__(
        self, address: Address, settings: dict[str, str], seconds: float | None = ANSWER_SECONDS
    ) -> None:
        self._address = address
        self._settings = settings
        self._seconds = seconds
        self._connection: Connection = None
        self._lock = asyncio.Lock()
        self.shut = False
        """Whether the store is closed: what somebody began before must not connect anew."""
        self.users = 0

    async def run(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Do `work` on the connection, again if the server asks for that; errors are Rota's."""
        self.users += 1
        try:
            async with self._lock:
                tries = 0
                while True:
                    tries += 1
                    try:
                        return await self._once(work)
                    except driver_errors() as error:
                        if tries == TRIES or not repeatable(error):
                            raise self._given_up(error) from error
        finally:
            self.users -= 1

    async def _once(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        connection = self._connection
        if connection is None or connection.is_closed() or connection.is_in_transaction():
            self.drop()
            if self.shut:
                raise StoreUnavailable("the store has been closed")
            connection = await self._address.connect(self._settings, self._seconds)
            self._connection = connection
        if not self._address.pooled:
            return await work(connection)
        # A pooler may send each statement elsewhere, unless they are one transaction.
        async with connection.transaction():
            return await work(connection)

    def _given_up(self, error: BaseException) -> Exception:
        fault = translated(error, self._address.reached)
        if isinstance(fault, StoreUnavailable):
            self.drop()
        return fault

    def drop(self) -> None:
        """Let go of the connection at once; the next use opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()

    async def close(self) -> None:
        """Close the connection in good order once the verb that uses it is through."""
        async with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                try:
                    await connection.close(timeout=CONNECT_SECONDS)
                except driver_errors():
                    connection.terminate()


class Lines:
    """All lines of a store by role; a role with two uses the second while the first is busy."""

    def __init__(self, address: Address) -> None:
        self._lines = {
            role: [Line(address, _SETTINGS[role]) for _ in range(_LINES.get(role, 1))]
            for role in Role
        }

    async def run(self, role: Role, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Do `work` on the least used line of a role."""
        return await min(self._lines[role], key=lambda line: line.users).run(work)

    def open(self) -> None:
        """Let the lines connect, at their first use."""
        for line in self._everyone:
            line.shut = False

    async def close(self) -> None:
        """Close every line; none connects again before `open`."""
        for line in self._everyone:
            line.shut = True
        await asyncio.gather(*(line.close() for line in self._everyone))

    @property
    def _everyone(self) -> list[Line]:
        return [line for lines in self._lines.values() for line in lines]
