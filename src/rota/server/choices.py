"""Says what would have fitted: the words that a field may have, the field that was meant."""

from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import Struct, structs

from rota.registry import did_you_mean

NAME_MOST = 64
"""A longer name of a field is nobody's slip."""


def words(wanted: Any, path: Sequence[str]) -> str:
    """Return which words fit at a place of a type, as the end of a sentence; "" if any may.

    >>> words(dict[str, Literal["a", "b"]], ["x"])
    '; there are a, b'
    """
    found: list[str] = []
    for one in _at(wanted, path):
        if get_origin(one) is Literal:
            found += [str(word) for word in get_args(one)]
        elif isinstance(one, type) and issubclass(one, Enum):
            found += [str(word.value) for word in one]
    return f"; there are {', '.join(found)}" if found else ""


def meant(wanted: Any, path: Sequence[str]) -> str:
    """Return a hint at the field that was meant by the last name of a path, or ""."""
    *parents, name = path
    if len(name) > NAME_MOST:
        return ""
    known = [field for one in _at(wanted, parents) for field in _fields(one)]
    return did_you_mean(name, known)


def _at(wanted: Any, path: Sequence[str]) -> list[Any]:
    """Return what may be at a place of a type."""
    types = list(_parts(wanted))
    for name in path:
        types = [part for one in types for inner in _inside(one, name) for part in _parts(inner)]
    return types


def _parts(wanted: Any) -> Iterator[Any]:
    if get_origin(wanted) is Annotated:
        yield from _parts(get_args(wanted)[0])
    elif get_origin(wanted) in (Union, UnionType):
        for part in get_args(wanted):
            yield from _parts(part)
    else:
        yield wanted


def _inside(wanted: Any, name: str) -> list[Any]:
    if get_origin(wanted) in (list, tuple, dict):
        return [get_args(wanted)[-1]]
    return [_fields(wanted)[name]] if name in _fields(wanted) else []


def _fields(wanted: Any) -> dict[str, Any]:
    return _known(wanted) if isinstance(wanted, type) and issubclass(wanted, Struct) else {}


@cache
def _known(wanted: type[Struct]) -> dict[str, Any]:
    hints = get_type_hints(wanted, include_extras=True)
    return {field.encode_name: hints[field.name] for field in structs.fields(wanted)}
