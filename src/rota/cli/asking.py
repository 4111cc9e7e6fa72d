"""Asks a server one thing, for commands that must know before they store anything."""

import http.client
import ssl
from typing import Any
from urllib.parse import urlsplit

import msgspec

from rota.cli.credentials import origin
from rota.errors import StoreUnavailable

SECONDS = 10.0


def ask(url: str, path: str, token: str) -> tuple[int, Any]:
    """Return status and body of one GET; `StoreUnavailable` if nobody answers.

    A redirect is an answer like any other: the token goes to this address alone.
    """
    parts = urlsplit(origin(url))
    connection = (
        http.client.HTTPSConnection(
            parts.netloc, timeout=SECONDS, context=ssl.create_default_context()
        )
        if parts.scheme == "https"
        else http.client.HTTPConnection(parts.netloc, timeout=SECONDS)
    )
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise StoreUnavailable(f"no answer from {origin(url)}: {error}") from None
    finally:
        connection.close()
    try:
        return answer.status, msgspec.json.decode(body)
    except msgspec.MsgspecError:
        return answer.status, None
