"""What handlers did, as they wrote it down themselves: a line as each begins and ends."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

BEGAN, ENDED = "+", "-"


class Event(Struct, frozen=True):
    """A handler began or ended at a microsecond."""

    what: str
    number: int
    at: int


def events(file: Path) -> list[Event]:
    """Return them in the order in which they were written, which is the same for all processes."""
    text = file.read_text(encoding="ascii") if file.exists() else ""
    return list(_events(text.splitlines(keepends=True)))


def _events(lines: Iterable[str]) -> Iterator[Event]:
    for line in lines:
        if line.endswith("\n"):  # or it is half written
            number, at = line[1:].split()
            yield Event(line[0], int(number), int(at))


def most_at_once(seen: Sequence[Event]) -> int:
    """Return how many handlers ran at once at most.

    A line is written after a handler began and before it ends: so it is never too many.
    """
    most = now = 0
    for event in seen:
        now += 1 if event.what == BEGAN else -1
        most = max(most, now)
    return most


def begun(seen: Sequence[Event]) -> list[int]:
    """Return the numbers of the handlers in the order in which they began."""
    return [event.number for event in seen if event.what == BEGAN]
