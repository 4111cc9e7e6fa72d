"""Hints that there is work: sent merged and apart from any submit, heard on a line of their own.

A hint may be lost; polling is the truth. It has a connection whose commits do not wait for the
disk, and is never part of a submit: notifying takes a lock that would put all commits in line.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from rota.errors import StoreError, StoreUnavailable
from rota.model import Micros
from rota.store.base import Heard, Wake
from rota.store.postgres.address import Address
from rota.store.postgres.connections import Lines, Role
from rota.store.postgres.faults import driver_errors, translated
from rota.store.postgres.statements import Connection, fetch

MERGED_SECONDS = 0.005
"""Hints that come within this time of the last one wait for each other and go as one."""
LOOK_SECONDS = 2.0
"""Behind a pooler that carries no news, something may have changed this often."""
CHECK_SECONDS = 15.0
"""How often a silent link is tried; one that died without a word is noticed by it."""


class Sender:
    """Sends hints, at most one in `MERGED_SECONDS`.

    One stands for all that say "now", and the earliest instant for all that say "later": who waits
    for the one need not wait for the other.
    """

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._waiting: dict[bool, Micros] = {}
        self._sending: asyncio.Task[None] | None = None

    def send(self, at: Micros) -> None:
        """Take in a hint and return at once."""
        later = at > 0
        self._waiting[later] = min(at, self._waiting.get(later, at))
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._send_waiting())

    async def close(self) -> None:
        """Wait until what was taken in has been sent."""
        if self._sending is not None:
            await self._sending

    async def _send_waiting(self) -> None:
        while self._waiting:
            _, at = self._waiting.popitem()
            with suppress(StoreError):
                await self._lines.run(Role.HINT, partial(_send, at))
            await asyncio.sleep(MERGED_SECONDS)


async def _send(at: Micros, connection: Connection) -> None:
    await fetch(connection, "send_hint", at=str(at))


async def announce(lines: Lines, text: str) -> None:
    """Tell whoever follows what has changed; like a hint, apart from what changed it (B154)."""
    await lines.run(Role.HINT, partial(_announce, text))


async def _announce(text: str, connection: Connection) -> None:
    await fetch(connection, "send_news", text=text)


async def listen(address: Address, wake: Wake, settings: dict[str, str]) -> None:
    """Call `wake` for each hint until cancelled, and once at the start for what came before."""

    def hint(payload: str | None) -> None:
        wake(int(payload) if payload is not None and payload.isdecimal() else None)

    await _listen(address, "rota", hint, settings)


async def follow(address: Address, heard: Heard, settings: dict[str, str]) -> None:
    """Call `heard` with what is announced until cancelled, and with None at the start."""
    await _listen(address, "rota_changes", heard, settings)


async def look_again(heard: Heard) -> None:
    """Say now and then that something may have changed, until cancelled."""
    while True:
        heard(None)
        await asyncio.sleep(LOOK_SECONDS)


async def _listen(address: Address, channel: str, heard: Heard, settings: dict[str, str]) -> None:
    ended = asyncio.Event()
    try:
        connection = await address.connect(settings, CHECK_SECONDS)
    except driver_errors() as error:
        raise translated(error, reached=True) from error
    try:
        connection.add_termination_listener(lambda _: ended.set())
        await connection.add_listener(channel, _hearer(heard))
        heard(None)
        while not ended.is_set():
            await _wait(ended, CHECK_SECONDS)
            await connection.fetchval("select 1")
    except driver_errors() as error:
        raise translated(error, reached=True) from error
    finally:
        connection.terminate()
    raise StoreUnavailable("the link on which PostgreSQL sends hints broke")


def _hearer(heard: Heard) -> Callable[[Connection, int, str, Any], None]:
    def hear(_connection: Connection, _pid: int, _channel: str, payload: Any) -> None:
        heard(str(payload))

    return hear


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
