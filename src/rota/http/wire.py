"""What the worker protocol carries: the same shapes for the server and for its Python client."""

from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

from rota.clock import micros
from rota.config import LEASE_MARGIN_SHARE, SECOND
from rota.model import Claimed, Micros
from rota.times import show_instant

PROTOCOL = 1
FEATURES = ("progress", "hints", "avoid", "spare")
CLAIM_MOST = 1_000
REPORT_BYTES = 32 * 1024 * 1024
FINISH_MOST = 1_000
WAIT_MOST = 30.0
NUMBER_MOST = 2**53 - 1
HINTS_MEDIA = "application/x-ndjson"
STREAM_QUIET = 15.0
"""A stream of hints has a sign of life at least this often, in seconds."""

Outcome = Literal["completed", "failed", "timed_out", "snooze", "cancelled", "released", "expired"]
Verdict = Literal["applied", "duplicate", "stale", "unknown", "invalid"]


class Handed(Struct, frozen=True, gc=False):
    """A task as a worker gets it; `payload`, `headers`, `retry` and `last_checkpoint` are JSON.

    Durations are seconds, instants text in UTC.
    """

    id: str
    fence: int
    attempt: int
    max_attempts: int
    kind: str
    queue: str
    tenant: str
    priority: int
    payload: Raw
    headers: Raw
    timeout: float | None
    idempotency_key: str
    run_at: str
    created_at: str
    expires_at: str | None
    schedule: str | None
    slot: str | None
    last_checkpoint: Raw
    retry: Raw
    lost_leases: int
    snoozes: int
    concurrency_key: str | None


class Got(Struct, frozen=True):
    """The answer to a claim."""

    request: int
    repeated: bool
    state: str
    tasks: list[Handed]
    again_at: str | None = None
    spared: bool = False


class Holds(Struct, frozen=True):
    """What a session holds."""

    tasks: list[Handed]


class Stop(Struct, frozen=True, gc=False):
    """A task that is asked to stop; in `deadline_s` seconds it is taken away."""

    id: str
    fence: int
    deadline_s: float | None = None


class HandOut(Struct, frozen=True, gc=False):
    """A task under the fence of one hand-out."""

    id: str
    fence: int


class Heard(Struct, frozen=True):
    """The answer to a heartbeat."""

    seq: int
    lease_left: float
    state: str
    server_time: str
    cancel: list[Stop]
    lost: list[HandOut]
    resync: bool = False


class Opened(Struct, frozen=True):
    """The answer to a worker that opened a session."""

    session: str
    protocol: int
    features: tuple[str, ...]
    lease: float
    heartbeat_every: float
    margin: float
    state: str
    server_time: str
    limits: dict[str, int]


class Said(Struct, frozen=True, omit_defaults=True, gc=False):
    """What became of one item of a report."""

    id: str
    verdict: Verdict
    state: str | None = None
    problem: str | None = None


class Verdicts(Struct, frozen=True):
    """What became of a report, item by item."""

    items: list[Said]


class Released(Struct, frozen=True):
    """How many tasks the end of a session handed back."""

    released: int


NULL = Raw(b"null")


def handed(task: Claimed, max_attempts: int) -> Handed:
    """Return a task as a worker gets it."""
    created = show_instant(task.created_at)
    return Handed(
        task.id,
        task.fence,
        task.attempt,
        max_attempts,
        task.kind,
        task.queue,
        task.tenant,
        task.priority,
        Raw(task.payload),
        _raw(task.headers),
        None if task.timeout is None else task.timeout / SECOND,
        task.id,
        created if task.run_at == task.created_at else show_instant(task.run_at),
        created,
        _shown(task.expires_at),
        task.schedule,
        _shown(task.slot),
        _raw(task.checkpoint),
        _raw(task.retry),
        task.lost,
        task.snoozes,
        task.concurrency_key,
    )


def claimed(task: Handed) -> Claimed:
    """Return a task that was handed out as the worker knows it."""
    created = instant_of(task.created_at)
    return Claimed(
        task.id,
        task.fence,
        task.attempt,
        task.lost_leases,
        task.snoozes,
        task.kind,
        task.queue,
        task.tenant,
        task.priority,
        created if task.run_at == task.created_at else instant_of(task.run_at),
        created,
        str(task.payload, "utf-8"),
        None if task.timeout is None else round(task.timeout * SECOND),
        _text(task.retry),
        _read(task.expires_at),
        _text(task.headers),
        _text(task.last_checkpoint),
        task.concurrency_key,
        task.schedule,
        _read(task.slot),
    )


def without_payload(task: Claimed) -> Claimed:
    """Return what a server has to remember of a task that it handed out."""
    return Claimed(
        task.id,
        task.fence,
        task.attempt,
        task.lost,
        task.snoozes,
        task.kind,
        task.queue,
        task.tenant,
        task.priority,
        task.run_at,
        task.created_at,
        "",
        task.timeout,
        task.retry,
        task.expires_at,
        None,
        None,
        task.concurrency_key,
        task.schedule,
        task.slot,
    )


def instant_of(text: str) -> Micros:
    """Return an instant that a server wrote."""
    if len(text) == 27 and text[19] == "." and text[26] == "Z":
        return _second_of(text[:19]) + int(text[20:26])
    return micros(datetime.fromisoformat(text))


@lru_cache(maxsize=4096)
def _second_of(text: str) -> Micros:
    # Many instants are read, most of them of the same few seconds.
    return micros(datetime.fromisoformat(f"{text}Z"))


def margin(lease: Micros) -> float:
    """Return the seconds before the end of a lease at which its holder stops (R3.4)."""
    return lease / SECOND * LEASE_MARGIN_SHARE


def encode(value: Any) -> bytes:
    """Return a value as JSON."""
    return _encoder.encode(value)


_encoder = msgspec.json.Encoder()


def _raw(text: str | None) -> Raw:
    return NULL if text is None else Raw(text)


def _text(raw: Raw) -> str | None:
    return None if raw == NULL else str(raw, "utf-8")


def _shown(at: Micros | None) -> str | None:
    return None if at is None else show_instant(at)


def _read(text: str | None) -> Micros | None:
    return None if text is None else instant_of(text)
