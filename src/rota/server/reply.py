"""Sends answers: whole ones in two messages, streams chunk by chunk while somebody takes them."""

import asyncio
from contextlib import suppress
from typing import Any

import msgspec

from rota.server.asgi import Receive, Send
from rota.server.route import Answer, Stream, json

NO_STORE = (b"cache-control", b"no-store")
NO_SNIFF = (b"x-content-type-options", b"nosniff")
_JSON = (b"content-type", b"application/json")
_EMPTY = {"type": "http.response.body", "body": b""}

Headers = list[tuple[bytes, bytes]]


def head(answer: Answer | Stream, request_id: str) -> Headers:
    """Return the headers that every answer has, and its own; `ValueError` if one has no fit.

    What could end a header and begin another one never gets into any.
    """
    headers = [NO_STORE, NO_SNIFF, (b"rota-request-id", request_id.encode())]
    for name, value in answer.headers:
        if name == "Cache-Control":
            headers.remove(NO_STORE)  # what is the same for everybody may be kept
        if not value.isprintable():
            raise ValueError(f"the header {name} cannot be {value!r}")
        headers.append((name.lower().encode("ascii"), value.encode("latin-1")))
    return headers


async def reply(send: Send, answer: Answer, headers: Headers, *, bodiless: bool = False) -> None:
    """Send a whole answer; `bodiless` without its body, as HEAD wants it."""
    body = b""
    if answer.body is not msgspec.UNSET:
        body = answer.body
    elif answer.value is not msgspec.UNSET:
        body = json(answer.value)
    if body:
        own = answer.media == "application/json"
        headers.append(_JSON if own else (b"content-type", answer.media.encode()))
    if answer.status not in (204, 304):
        headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body} if body and not bodiless else _EMPTY)


async def flow(send: Send, receive: Receive, stream: Stream, headers: Headers) -> None:
    """Send a stream until it ends or its reader hangs up."""
    headers.append((b"content-type", stream.media.encode()))
    # Whoever sends is told nothing of a reader that has gone.
    writing = asyncio.ensure_future(_write(send, stream, headers))
    watching = asyncio.ensure_future(_hung_up(receive))
    try:
        await asyncio.wait((writing, watching), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for work in (writing, watching):
            work.cancel()
        try:
            await asyncio.gather(writing, watching, return_exceptions=True)
            close = getattr(stream.chunks, "aclose", None)
            if close is not None:
                with suppress(RuntimeError):
                    await asyncio.shield(close())
        finally:  # whoever ends this may do so while it ends
            if stream.ended is not None:
                stream.ended()
    if not writing.cancelled() and (error := writing.exception()) is not None:
        raise error


async def _write(send: Send, stream: Stream, headers: Headers) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    async for chunk in stream.chunks:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send(_EMPTY)


async def _hung_up(receive: Receive) -> Any:
    while (await receive())["type"] != "http.disconnect":
        pass
