"""Requests that are carried out once: `Idempotency-Key`, and what is remembered under it (R1.4)."""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256

from rota.errors import KeyBusy
from rota.requests import ANYBODY, KEY_KEPT, Submission
from rota.server.problems import Problem
from rota.server.route import Call, json

IDEMPOTENCY = "idempotency-key"
REPLAYED = (("Idempotency-Replayed", "true"),)
KEY_MOST = 255
KEY_HEADER = ("Idempotency-Key",)
KEY_CODES = ((409, "request_in_progress"), (422, "key_reused"))
"""What a route says of itself that takes such keys."""


async def earlier_of(call: Call, operation: str, key: str, fingerprint: str) -> Submission | None:
    """Return the request that holds the key; `Problem` 422 if its content was another one."""
    found = await call.backend.find_submission(scope_of(call), operation, key)
    return None if found is None else same(found, fingerprint)


def same(found: Submission, fingerprint: str) -> Submission:
    """Return an earlier request if its content was the same; `Problem` 422 if not."""
    if found.fingerprint != fingerprint:
        raise Problem(
            "key_reused",
            "the Idempotency-Key came with other content before; take a new key for a new request",
            errors=[{"in": "header", "pointer": "/Idempotency-Key", "detail": "was used before"}],
        )
    return found


def key_of(call: Call) -> str:
    """Return the `Idempotency-Key` of a call, in quotes or without; `Problem` 422 if it is none."""
    key = call.headers[IDEMPOTENCY].strip()
    if len(key) > 2 and key[0] == key[-1] == '"':
        key = key[1:-1]
    if not (0 < len(key) <= KEY_MOST and key.isascii() and key.isprintable()):
        detail = f"must be 1 to {KEY_MOST} printable characters"
        raise Problem(
            "validation_failed",
            f"Idempotency-Key {detail}",
            errors=[{"in": "header", "pointer": "/Idempotency-Key", "detail": detail}],
        )
    return key


async def reserved(call: Call, operation: str, *content: object) -> str | None:
    """Return the id that belongs to the `Idempotency-Key` of a call, None if it has none.

    What the call makes is stored under this id, so a repeat finds it there, or makes it if the
    first one did not come so far. `Problem` 422 if the key came with other content before.
    """
    if IDEMPOTENCY not in call.headers:
        return None
    key, fingerprint = key_of(call), sha256(json(content)).hexdigest()
    with alone(call, operation, key):
        earlier = await earlier_of(call, operation, key, fingerprint)
        if earlier is None:
            kept = kept_under(call, operation, key, fingerprint)
            done = await call.backend.submit_once([], kept)
            earlier = same(done, fingerprint) if isinstance(done, Submission) else kept
    return earlier.id


def kept_under(
    call: Call, operation: str, key: str, fingerprint: str, *task_ids: str
) -> Submission:
    """Return what is remembered of a call under its key, for as long as a key is."""
    now = call.place.clock.now()
    return Submission(
        id=call.place.ids.new(now),
        scope=scope_of(call),
        operation=operation,
        key=key,
        fingerprint=fingerprint,
        task_ids=task_ids,
        created_at=now,
        key_until=now + KEY_KEPT,
        keep_until=now + KEY_KEPT,
    )


@contextmanager
def alone(call: Call, operation: str, key: str | None) -> Iterator[None]:
    """Let one request with a key through at a time; `Problem` 409 if one is under way."""
    mark = (scope_of(call), operation, key or "")
    under_way = call.place.intake.under_way
    if key is not None:
        if mark in under_way:
            raise in_progress()
        under_way.add(mark)
    try:
        yield
    except KeyBusy:
        raise in_progress() from None
    finally:
        if key is not None:
            under_way.discard(mark)


def in_progress() -> Problem:
    """Return the problem of a call whose key is in use by another one at this moment."""
    return Problem(
        "request_in_progress",
        "a request with the same key is under way; its outcome is not known yet",
        headers=(("Retry-After", "1"),),
    )


def scope_of(call: Call) -> str:
    """Return to whom idempotency keys of a call belong: the tenant of its API key."""
    tenant = call.caller.scope.tenant
    return ANYBODY if tenant is None else tenant
