"""What was counted as a store writes and reads it: rows as JSON."""

from collections.abc import Sequence
from typing import Any

import msgspec

from rota.figures import By, Counted, StatisticsFilter


def to_json(rows: Sequence[Counted]) -> str:
    """Return rows as JSON, in the order of their key."""
    ordered = sorted(rows, key=lambda row: (row.span, row.at, row.queue or "", row.kind or ""))
    return msgspec.json.encode(ordered).decode()


def counted(row: Sequence[Any], span: int) -> Counted:
    """Return what was read of a step."""
    at, queue, kind, counts = row
    return Counted(at, span, queue, kind, _COUNTS.decode(counts))


def values(where: StatisticsFilter, limit: int) -> dict[str, Any]:
    """Return the parameters of a read."""
    return {
        "since": where.since - where.since % where.step,
        "until": where.until - where.until % where.step,
        "step": where.step,
        "span": where.span,
        "queue": where.queue,
        "kind": where.kind,
        "by_queue": By.QUEUE in where.by,
        "by_kind": By.KIND in where.by,
        "limit": limit,
    }


_COUNTS: "msgspec.json.Decoder[dict[int, int]]" = msgspec.json.Decoder(dict[int, int], strict=False)
