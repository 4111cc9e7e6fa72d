"""What errors have in common: the shape of a message, and the group that it belongs to (R4.4)."""

import hashlib
import re
from typing import Final

from msgspec import Struct

from rota.model import AttemptError

SHAPE_CHARS: Final = 200

_PARTS: Final = re.compile(
    r"""
      (?P<id>\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b)
    | (?P<address>\b0x[0-9a-fA-F]+\b)
    | (?P<time>\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?)
    | (?P<hash>\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{12,}\b)
    | (?P<n>(?<![\w.-])[-+]?\d+(?:[.,]\d+)*)
    | (?P<text>'[^'\n]*'|"[^"\n]*")
    """,
    re.VERBOSE,
)


class Group(Struct, frozen=True):
    """A group of dead letters that failed alike; `id` is short enough to be typed."""

    id: str
    kind: str
    error_type: str
    shape: str


def shape_of(message: str) -> str:
    """Return a message without what differs from case to case.

    >>> shape_of("student 4711 timed out after 30.5 s at 2026-11-30T10:00:00Z")
    'student <n> timed out after <n> s at <time>'
    """
    first = message.strip().splitlines()[0] if message.strip() else ""
    shape = _PARTS.sub(lambda match: f"<{match.lastgroup}>", first[: 4 * SHAPE_CHARS])
    return shape[:SHAPE_CHARS]


def group_of(kind: str, error: AttemptError | None) -> Group:
    """Return the group of a dead letter by its kind and its last error.

    >>> group_of("send", AttemptError(0, 1, "Timeout", "after 30 s")).shape
    'after <n> s'
    """
    error_type = error.type if error else ""
    shape = shape_of(error.message) if error else ""
    digest = hashlib.sha256("\0".join((kind, error_type, shape)).encode()).hexdigest()
    return Group(digest[:12], kind, error_type, shape)
