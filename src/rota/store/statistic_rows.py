"""What was counted as a store writes and reads it: rows as JSON."""

from collections.abc import Sequence
from typing import Any

import msgspec

from rota.figures import By, Counted, StatisticsFilter
from rota.service import Got, ServiceFilter


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
    return window(where, limit) | {
        "step": where.step,
        "queue": where.queue,
        "kind": where.kind,
        "by_queue": By.QUEUE in where.by,
        "by_kind": By.KIND in where.by,
    }


def window(where: StatisticsFilter | ServiceFilter, limit: int) -> dict[str, Any]:
    """Return the time of a filter, moved down to whole steps, as parameters of a read."""
    return {
        "since": where.since - where.since % where.step,
        "until": where.until - where.until % where.step,
        "span": where.span,
        "limit": limit,
    }


def packed(rows: Sequence[Got]) -> str:
    """Return rows as JSON."""
    return msgspec.json.encode(rows).decode()


def got(row: Sequence[Any], step: int) -> Got:
    """Return what was read of a step and a tenant."""
    at, tenant, completed, ran = row
    return Got(at, step, tenant, completed, ran)


_COUNTS: "msgspec.json.Decoder[dict[int, int]]" = msgspec.json.Decoder(dict[int, int], strict=False)
