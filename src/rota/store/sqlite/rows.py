"""Values to JSON and back: the form in which batches cross into SQLite and out again."""

from typing import Any

import msgspec

from rota.model import CancelRequest, Claimed, DeadLetterGroup, Session, Task

_encode = msgspec.json.Encoder().encode
ids_in = msgspec.json.Decoder(list[str]).decode
"""Reads a JSON array of ids."""
numbers_in = msgspec.json.Decoder(list[int]).decode
"""Reads a JSON array of numbers."""
held_in = msgspec.json.Decoder(list[tuple[str, int]]).decode
"""Reads a JSON array of (id, fence)."""
due_in = msgspec.json.Decoder(list[tuple[str, str | None]]).decode
"""Reads a JSON array of (id, gate)."""
claimed_in = msgspec.json.Decoder(list[Claimed]).decode
"""Reads a JSON array of tasks that were handed out."""
places_in = msgspec.json.Decoder(list[tuple[int, str]]).decode
"""Reads a JSON array of (place, tenant)."""
requests_in = msgspec.json.Decoder(tuple[CancelRequest, ...]).decode
"""Reads a JSON array of tasks that are asked to stop."""
group_in = msgspec.json.Decoder(DeadLetterGroup).decode
"""Reads one group of dead letters."""
task_in = msgspec.json.Decoder(Task).decode
"""Reads one task."""
session_in = msgspec.json.Decoder(Session).decode
"""Reads one session."""


def to_json(value: Any) -> str:
    """Return a batch of values as one JSON text, to be bound as a parameter."""
    return _encode(value).decode()
