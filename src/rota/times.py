"""Reads durations, instants and rates as people write them, and refuses what is unclear."""

import math
import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from rota.clock import Micros, instant, micros
from rota.config import DAY, HOUR, LONGEST_DELAY, MINUTE, RATE_LEAST, RATE_MOST, SECOND
from rota.errors import InvalidTask

Duration = float | timedelta | str
"""Seconds, a `timedelta`, or text such as `15m`, `1h30m`, `250ms`, `PT15M`."""

Instant = datetime | str
"""An aware `datetime`, or RFC 3339 text with `Z` or an offset."""

Rate = float | str
"""How many a second, or text such as `500/s`, `30/m`, `1000/h`."""

_UNITS = {"ms": 1000, "s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}
_SHORT = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdw])")
_ISO = re.compile(
    r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.ASCII
)
_RATE = re.compile(r"(\d+(?:\.\d+)?)(?:/([smhd]))?", re.ASCII)
_PER = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_RFC3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.(\d+))?)?(?:[Zz]|[+-]\d\d:\d\d)?", re.ASCII
)


def duration(value: object, field: str) -> Micros:
    """Return a duration in microseconds; `InvalidTask` names `field` if it cannot be one.

    Never negative, at most ten years. Years and months are refused: they have no fixed length.

    >>> duration("1h30m", "delay") == duration(5400, "delay") == duration("PT1H30M", "delay")
    True
    """
    length = _length(value, field)
    if not 0 <= length <= LONGEST_DELAY:
        raise InvalidTask(field, f"must lie between 0 and 10 years, got {value!r}")
    return length


def _length(value: object, field: str) -> Micros:
    match value:
        case bool():
            pass
        case timedelta():
            return value // timedelta(microseconds=1)
        case int() | float() if math.isfinite(value) and abs(value) < LONGEST_DELAY:
            return round(value * SECOND)
        case str():
            text = value.strip()
            if _SHORT.fullmatch(text):
                return sum(round(float(n) * _UNITS[unit]) for n, unit in _PART.findall(text))
            iso = _ISO.fullmatch(text)
            if iso and any(iso.groups()):
                units = (7 * DAY, DAY, HOUR, MINUTE, SECOND)
                parts = zip(iso.groups("0"), units, strict=True)
                return sum(round(float(n) * unit) for n, unit in parts)
    raise InvalidTask(
        field, f"{value!r} is no duration; give seconds, a timedelta, or text such as '15m'"
    )


def moment(value: object, field: str) -> Micros:
    """Return an instant in microseconds; `InvalidTask` names `field` if it is unclear.

    A time without a zone is refused: it would mean another instant on another machine.

    >>> moment("1970-01-01T00:00:01Z", "run_at")
    1000000
    """
    parsed = value if isinstance(value, datetime) else _parse(value, field)
    if parsed.tzinfo is None or parsed.utcoffset() is None:
        raise InvalidTask(
            field, f"{value!s} has no time zone; add one, for instance datetime.now(UTC) or a 'Z'"
        )
    at = micros(parsed.astimezone(UTC))
    if at < 0:
        raise InvalidTask(field, f"{value!s} lies before 1970")
    return at


def _parse(value: object, field: str) -> datetime:
    if isinstance(value, str):
        match = _RFC3339.fullmatch(value.strip())
        if match and len(match[1] or "") > 6:
            raise InvalidTask(field, f"{value!r} is finer than a microsecond")
        if match:
            try:
                return datetime.fromisoformat(value.strip().upper())
            except ValueError as error:
                raise InvalidTask(field, f"{value!r} is no instant: {error}") from None
    raise InvalidTask(
        field,
        f"{value!r} is no instant; give an aware datetime or text such as '2026-11-30T10:00:00Z'",
    )


def show_instant(at: Micros) -> str:
    """Return an instant in the one form that Rota writes: UTC, fixed width, sorts as text.

    >>> show_instant(1_000_000)
    '1970-01-01T00:00:01.000000Z'
    """
    second, fraction = divmod(at, SECOND)
    return f"{_show_second(second)}.{fraction:06d}Z"


@lru_cache(maxsize=4096)
def _show_second(second: int) -> str:
    # Many instants are shown, most of them of the same few seconds.
    return instant(second * SECOND).isoformat()[:19]


def show_duration(length: Micros) -> str:
    """Return a duration for people, in its two largest units.

    >>> show_duration(5_400_000_000)
    '1h30m'
    """
    if length < SECOND:
        return f"{length / 1000:.0f}ms"
    if length < 10 * SECOND:
        return f"{length / SECOND:.1f}s".replace(".0s", "s")
    parts = []
    rest = length
    for name, unit in (("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", SECOND)):
        count, rest = divmod(rest, unit)
        if count:
            parts.append(f"{count}{name}")
    return "".join(parts[:2])


def rate(value: object, field: str) -> float:
    """Return a rate in tasks a second; `InvalidTask` names `field` if it cannot be one.

    >>> rate("30/m", "rate"), rate(500, "rate")
    (0.5, 500.0)
    """
    found: float | None = None
    match value:
        case bool():
            pass
        case int() | float() if math.isfinite(value):
            found = float(value)
        case str() if parts := _RATE.fullmatch(value.strip()):
            found = float(parts[1]) / _PER[parts[2] or "s"]
    if found is None:
        raise InvalidTask(
            field, f"{value!r} is no rate; give a number a second, or text such as '500/s', '30/m'"
        )
    if not RATE_LEAST <= found <= RATE_MOST:
        raise InvalidTask(field, f"must lie between 1/d and {RATE_MOST}/s, got {value!r}")
    return found


def show_rate(per_second: float) -> str:
    """Return a rate the way it is typed: in whole numbers if there is a unit that allows it.

    >>> show_rate(500.0), show_rate(0.5), show_rate(2.5)
    ('500/s', '30/m', '2.5/s')
    """
    if per_second < 1:
        for unit, seconds in _PER.items():
            count = per_second * seconds
            if round(count) and abs(count - round(count)) < 1e-6 * count:
                return f"{round(count)}/{unit}"
    unit = "s" if per_second >= 0.1 else "d"
    return f"{per_second * _PER[unit]:.6f}".rstrip("0").rstrip(".") + f"/{unit}"
