"""Signatures of Standard Webhooks 1.0: who sent it, and when, so that nobody can repeat it (S5)."""

import hashlib
import hmac
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Iterable, Mapping
from typing import Final

from rota.errors import ConfigurationError

PREFIX: Final = "whsec_"
WINDOW: Final = 300
"""What was signed longer ago than so many seconds, or will be, is refused."""
SECRET_LEAST: Final = 16
"""A secret of fewer bytes could be guessed."""


class BadSignature(Exception):
    """Something that was not signed with the secret, or not lately."""


def sign(secrets: Iterable[str], message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the three headers that go with a body; a signature for each of the secrets."""
    signed = [_signature(secret, message_id, timestamp, body) for secret in secrets]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{one}" for one in signed),
    }


def verify(
    secret: str, headers: Mapping[str, str], body: bytes, now: int, window: int = WINDOW
) -> str:
    """Return the id of a message that is genuine and fresh; `BadSignature` if it is not.

    What comes again within the window has the same id: whoever receives it keeps the ids of so
    long. `headers` have lower-case names.
    """
    message_id, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not message_id or not stamp.isascii() or not stamp.isdigit():
        raise BadSignature("webhook-id or webhook-timestamp is missing")
    if abs(now - int(stamp)) > window:
        raise BadSignature("it was signed too long ago, or in the future")
    wanted = _signature(secret, message_id, int(stamp), body).encode()
    given = headers.get("webhook-signature", "").split(" ")
    if not any(
        hmac.compare_digest(wanted, one.removeprefix("v1,").encode("utf-8", "replace"))
        for one in given
        if one.startswith("v1,")
    ):
        raise BadSignature("no signature of it is by this secret")
    return message_id


def key_of(secret: str) -> bytes:
    """Return the bytes of a secret, `whsec_` and base64; `ConfigurationError` if it is none."""
    try:
        key = b64decode(secret.removeprefix(PREFIX), validate=True)
    except (Error, ValueError):
        key = b""
    if not secret.startswith(PREFIX) or len(key) < SECRET_LEAST:
        raise ConfigurationError("the secret must be whsec_ and base64 of at least 16 bytes")
    return key


def _signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    signed = f"{message_id}.{timestamp}.".encode() + body
    return b64encode(hmac.new(key_of(secret), signed, hashlib.sha256).digest()).decode()
