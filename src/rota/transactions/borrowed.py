"""What every caller's connection comes down to: one statement at a time, rows in return."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

T = TypeVar("T")

Dialect = Literal["sqlite", "postgres"]
Values = Mapping[str, Any]
Rows = list[tuple[Any, ...]]

_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]\w*)")


class Borrowed(Protocol):
    """A connection whose statements are waited for."""

    @property
    def dialect(self) -> Dialect:
        """The kind of database at its other end."""
        ...

    @property
    def begins(self) -> str | None:
        """The statement with which the driver would begin a transaction by itself before a write,
        if it is about to; None if there is one, or it would not.
        """
        ...

    def run(self, sql: str, values: Values) -> Rows:
        """Run a statement with parameters by name and return its rows, if it has any."""
        ...


class Awaited(Protocol):
    """A connection whose statements are awaited."""

    dialect: Dialect

    async def run(self, sql: str, values: Values) -> Rows:
        """Run a statement with parameters by name and return its rows, if it has any."""
        ...


@runtime_checkable
class Bridged(Protocol):
    """A connection that is awaited, and used as a blocking one underneath."""

    async def through(self, use: Callable[[Borrowed], T]) -> T:
        """Await `use` of the blocking connection."""
        ...


def needed(sql: str, values: Values) -> dict[str, Any]:
    """Return those of the values that a statement has parameters for."""
    return {name: values[name] for name in _PARAMETER.findall(sql)}


def percent(sql: str) -> str:
    """Return a statement with its parameters as `%(name)s`.

    >>> percent("select :a::text like '%'")
    "select %(a)s::text like '%%'"
    """
    return _PARAMETER.sub(r"%(\1)s", sql.replace("%", "%%"))


Face = Callable[[Any], Borrowed | Awaited | Bridged]
"""Makes one of the three of a connection of a certain driver."""
