"""How verbs are done on PostgreSQL: each on a line of the role that it has."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from rota.store.postgres.connections import Lines, Role
from rota.store.postgres.statements import execute, fetch, fetch_value

T = TypeVar("T")


class Verbs:
    """The base of the parts of the store."""

    _lines: Lines

    async def _do(self, role: Role, verb: Callable[..., Awaitable[T]], *values: Any) -> T:
        return await self._lines.run(role, lambda connection: verb(connection, *values))

    async def _fetch(self, role: Role, name: str, /, **values: Any) -> list[Any]:
        return await self._lines.run(role, lambda connection: fetch(connection, name, **values))

    async def _value(self, role: Role, name: str, /, **values: Any) -> Any:
        return await self._lines.run(role, lambda c: fetch_value(c, name, **values))

    async def _execute(self, role: Role, name: str, /, **values: Any) -> int:
        return await self._lines.run(role, lambda c: execute(c, name, **values))
