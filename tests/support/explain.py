"""Reads PostgreSQL's plans."""

from collections.abc import Iterator
from typing import Any


def literal(value: Any) -> str:
    """A value as it is written in a statement."""
    if value is None:
        return "null"
    if isinstance(value, list):
        return "'{" + ",".join(f'"{item}"' for item in value) + "}'"
    return str(value) if isinstance(value, int) else f"'{value}'"


def steps(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The steps of a plan, each before its parts."""
    yield plan
    for part in plan.get("Plans", ()):
        yield from steps(part)


def touched(plan: dict[str, Any]) -> int:
    """How many pages a plan touched, in memory or on the disk."""
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])
