"""Versions as entity tags: what has changed since it was read is not changed by mistake."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from msgspec import UNSET, Struct

from rota.errors import ScheduleChanged, SettingsChanged
from rota.server.problems import Problem
from rota.server.route import Answer, Call

T = TypeVar("T")

IF_MATCH = ("If-Match",)
CODES = ((412, "version_mismatch"),)

_TAG = re.compile(r'(?:W/)?"?(\d{1,18})"?')


def tagged(
    value: Any, version: int, *, status: int = 200, headers: tuple[tuple[str, str], ...] = ()
) -> Answer:
    """Return an answer that carries the version of what it shows."""
    return Answer(value, status, (("ETag", f'"{version}"'), *headers))


def wanted(call: Call) -> int | None:
    """Return the version for which a change was made, if the caller says so by `If-Match`."""
    given = call.headers.get("if-match", "*").strip()
    if given == "*":
        return None
    found = _TAG.fullmatch(given)
    if found is None:
        detail = f'must be a version as in ETag, for instance "4", not {given!r:.80}'
        raise Problem(
            "validation_failed",
            f"If-Match {detail}",
            errors=[{"in": "header", "pointer": "/If-Match", "detail": detail}],
        )
    return int(found[1])


def check(call: Call, version: int) -> None:
    """Refuse a change that was made for another version: `Problem` 412."""
    if wanted(call) not in (None, version):
        raise mismatch(version)


async def guarded(
    call: Call,
    change: Callable[[int | None], Awaitable[T]],
    version: Callable[[], Awaitable[int]],
) -> T:
    """Carry out a change for the version that the caller names; `Problem` 412 with the present."""
    given = wanted(call)
    try:
        return await change(given)
    except (ScheduleChanged, SettingsChanged):
        if given is None:
            raise
    raise mismatch(await version())


def mismatch(version: int) -> Problem:
    """Return the problem of a change that was made for another version."""
    return Problem(
        "version_mismatch",
        f"it is at version {version} now; read it, and change that",
        headers=(("ETag", f'"{version}"'),),
        version=version,
    )


def given(body: Struct, usual: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what a PATCH changes: what is absent is left alone, null is the usual value."""
    named = {name: getattr(body, name) for name in body.__struct_fields__}
    return {
        name: (usual or {}).get(name) if value is None else value
        for name, value in named.items()
        if value is not UNSET
    }
