"""Time zones by IANA name, from the package `tzdata` alone: the same on every node (R6.2)."""

from functools import cache
from importlib.resources import files
from zoneinfo import ZoneInfo

import tzdata

from rota.errors import InvalidSchedule


@cache
def zone(name: str) -> ZoneInfo:
    """Return the zone of this name; `InvalidSchedule` if there is none.

    >>> zone("Europe/Berlin").key
    'Europe/Berlin'
    """
    check_zone(name)
    # Not ZoneInfo(name), which prefers what the machine has: nodes would differ (B085).
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as data:
        return ZoneInfo.from_file(data, key=name)


def check_zone(name: object, field: str = "tz") -> str:
    """Return the name of a zone; `InvalidSchedule` if there is none, for whatever reason (B085).

    Only names that the data list are taken, so neither paths nor what only some machines have
    (`localtime`, `posix/…`, `right/…`).
    """
    if isinstance(name, str) and name in names():
        return name
    problem = f"{name!r} is no IANA time zone; give one such as 'Europe/Berlin' or 'UTC'"
    if isinstance(name, str) and (same := _by_lower_case().get(name.lower())):
        problem = f"{name!r} is no IANA time zone; did you mean {same!r}?"
    raise InvalidSchedule(field, problem)


@cache
def names() -> frozenset[str]:
    """Return the name of every zone there is."""
    listed = files("tzdata").joinpath("zones").read_text("ascii").split()
    return frozenset(listed) - {"Factory"}


def version() -> str:
    """Return the version of the time zone data, such as `2026f`; it is part of a node's health."""
    return str(tzdata.IANA_VERSION)


@cache
def _by_lower_case() -> dict[str, str]:
    return {name.lower(): name for name in names()}
