"""Reads the SQL files: named blocks for the verbs, numbered files for the migrations.

A block begins with `-- name: some_name`; the comment lines after it are its contract, the rest is
one statement with parameters by name (`:now`). The twins of both dialects have the same names in
the same order; a test holds them to it.
"""

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

_HEAD = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]\w*)")


class Migration(NamedTuple):
    """A numbered step of the schema; applied once, never changed afterwards."""

    number: int
    name: str
    sql: str


class Statement(NamedTuple):
    """One statement with its parameters numbered, for drivers that want positions.

    >>> number("select :a::int + :b + :a")
    Statement(sql='select $1::int + $2 + $1', names=('a', 'b'))
    """

    sql: str
    names: tuple[str, ...]


def number(sql: str) -> Statement:
    """Replace parameters by name with `$1`, `$2` … and return their names in that order."""
    names: list[str] = []

    def position(match: re.Match[str]) -> str:
        if match[1] not in names:
            names.append(match[1])
        return f"${names.index(match[1]) + 1}"

    return Statement(_PARAMETER.sub(position, sql), tuple(names))


@cache
def blocks(dialect: str) -> dict[str, str]:
    """Return every named block of a dialect, without its comments, in the files' order."""
    found: dict[str, str] = {}
    folder = files("rota.store") / "sql" / dialect
    for file in sorted(folder.iterdir(), key=lambda f: f.name):
        if not file.name.endswith(".sql"):
            continue
        parts = _HEAD.split(file.read_text(encoding="utf-8"))[1:]
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            if name in found:
                raise ValueError(f"{dialect}/{file.name}: block {name} is there twice")
            lines = [line for line in text.splitlines() if not line.lstrip().startswith("--")]
            found[name] = "\n".join(lines).strip().removesuffix(";")
    return found


@cache
def migrations(dialect: str) -> tuple[Migration, ...]:
    """Return the migrations of a dialect in their order, from files named `0001_name.sql`."""
    folder = files("rota.store") / "sql" / dialect / "migrations"
    found = []
    for file in sorted(folder.iterdir(), key=lambda f: f.name):
        if file.name.endswith(".sql"):
            number_, _, name = file.name.removesuffix(".sql").partition("_")
            found.append(Migration(int(number_), name, file.read_text(encoding="utf-8")))
    return tuple(found)
