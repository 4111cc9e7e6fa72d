"""Small pieces of text for people: made safe to show, and short."""

from collections.abc import Sequence

from rota.clock import Micros, instant
from rota.config import DAY, SECOND
from rota.times import show_duration

SHORTEST = 13
"""The first characters of an id that tell its millisecond; fewer would seldom tell two apart."""

_BIDI = {0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
_ESCAPES = {
    code: f"\\u{code:04x}" if code > 0xFF else f"\\x{code:02x}"
    for code in {*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *_BIDI}
} | {ord("\n"): "\\n", ord("\t"): "\\t", ord("\r"): "\\r"}


def visible(text: str) -> str:
    """Return text with control characters escaped: task data cannot steer a terminal.

    >>> print(visible("a\\x1b[31mb"))
    a\\x1b[31mb
    """
    return text.translate(_ESCAPES)


def one_line(text: str) -> str:
    """Return text on one line, its lines joined, other control characters escaped."""
    return visible(" ".join(text.split()))


def lines(text: str) -> list[str]:
    """Return the lines of a text, each safe to show."""
    return [visible(line) for line in text.split("\n")]


def relative(at: Micros, now: Micros) -> str:
    """Return when something is or was, seen from now.

    >>> relative(900_000_000, now=0), relative(0, now=12_000_000)
    ('in 15m', '12s ago')
    """
    # To the nearest second: what is due in 15 minutes is not due in 14m59s a moment later.
    distance = (abs(at - now) + SECOND // 2) // SECOND
    if distance == 0:
        return "now"
    length = show_duration(distance * SECOND)
    return f"in {length}" if at > now else f"{length} ago"


def wall(at: Micros, now: Micros) -> str:
    """Return an instant in UTC for people: the time alone if it is within a day of now.

    >>> wall(900_000_000, now=0), wall(864_000_000_000, now=0)
    ('00:15:00Z', '1970-01-11 00:00:00Z')
    """
    form = "%H:%M:%SZ" if abs(at - now) < DAY else "%Y-%m-%d %H:%M:%SZ"
    return instant(at).strftime(form)


def short_ids(ids: Sequence[str]) -> list[str]:
    """Return the ids cut alike, as short as still tells each from the others.

    >>> short_ids(["0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44"])
    ['0193f2a1-7c5e…']
    """
    length = SHORTEST
    while length < 36 and len({text[:length].rstrip("-") for text in ids}) < len(set(ids)):
        length += 1
    return [text if length >= 35 else f"{text[:length].rstrip('-')}…" for text in ids]
