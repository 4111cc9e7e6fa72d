"""Nodes that die between any two calls of the store, or in the middle of one, and come back."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg

from rota.clock import Ids, ManualClock, Rng
from rota.engine import Engine
from rota.errors import RotaError
from rota.model import Micros
from rota.store.base import Store
from tests.support.places import Place


class Died(Exception):
    """The node is no more; whether its last call had an effect is not known."""


class Mortal:
    """A store as one node sees it; at chance a call is the node's last one.

    The node dies before the call, after it without having heard the answer, or on PostgreSQL while
    the call is under way: its connections are cut by the server.
    """

    def __init__(self, store: Store, rng: Rng, share: float, cut: Callable[[], Awaitable[None]]):
        self._store = store
        self._rng = rng
        self._share = share
        self._cut = cut
        self.dead = False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not asyncio.iscoroutinefunction(found) or name in ("open", "close"):
            return found

        async def call(*args: Any, **kwargs: Any) -> Any:
            if self.dead:
                raise Died
            if self._rng.random() >= self._share:
                return await found(*args, **kwargs)
            self.dead = True
            when = self._rng.random()
            if when > 0.4:
                calling = asyncio.ensure_future(found(*args, **kwargs))
                if when > 0.7:
                    await self._cut()
                await asyncio.gather(calling, return_exceptions=True)
            raise Died

        return call


class Node:
    """A node with an engine of its own, which is another one after each of its deaths."""

    def __init__(self, place: Place, clock: ManualClock, rng: Rng, share: float) -> None:
        self._place = place
        self._share = share
        self._store: Store | None = None
        self._back_at: Micros = 0
        self.clock = clock
        self.rng = rng
        self.engine: Engine | None = None
        self.ids = Ids(rng)
        self.deaths = 0

    async def rise(self) -> bool:
        """Come back if it is time for that; say whether the node lives."""
        if self.engine is None and self.clock.now() >= self._back_at:
            self._store = self._place.store()
            await self._store.open()
            mortal: Any = Mortal(self._store, self.rng, self._share, self._cut)
            self.engine = Engine(mortal, self.clock, self.rng)
            self.risen()
        return self.engine is not None

    def risen(self) -> None:
        """Begin anew, with nothing known of before."""

    async def act(self, work: Callable[[Engine], Awaitable[None]]) -> None:
        """Do something while the node lives, which may be its last."""
        if self.engine is None:
            return
        try:
            await work(self.engine)
        except Died:
            self.deaths += 1
            await self.fall(self.rng.choice((0, 5_000_000, 60_000_000)))

    async def fall(self, pause: Micros = 0) -> None:
        """Be gone for a time."""
        store, self._store, self.engine = self._store, None, None
        self._back_at = self.clock.now() + pause
        if store is not None:
            await store.close()

    def back(self) -> None:
        """Come back at the next call, however long the pause was to be."""
        self._back_at = 0

    def immortal(self) -> None:
        """Die no more."""
        self._share = 0.0
        if self.engine is not None:
            store: Any = self.engine.store
            store._share = 0.0

    async def _cut(self) -> None:
        """Have the server cut the node's connections, whatever it does on them."""
        if self._place.dialect != "postgres":
            return
        store: Any = self._store
        lines = [line._connection for role in store._lines._lines.values() for line in role]
        open_ = [line for line in lines if line is not None and not line.is_closed()]
        try:
            pids = [line.get_server_pid() for line in open_]
            async with self._place.connection() as other:
                await other.execute(
                    "select pg_terminate_backend(pid) from unnest($1::int[]) as pid", pids
                )
        except (asyncpg.PostgresError, RotaError):
            return
