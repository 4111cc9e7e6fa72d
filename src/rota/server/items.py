"""The items of a batch as they come: of a JSON array, or line by line (NDJSON), under bounds."""

from collections.abc import AsyncIterator

import msgspec

from rota.server.problems import Problem

ITEMS_MOST = 10_000
LINE_BYTES = 320 * 1024
JSON = "application/json"
NDJSON = "application/x-ndjson"

_array = msgspec.json.Decoder(list[msgspec.Raw])


async def read_items(chunks: AsyncIterator[bytes], media: str) -> AsyncIterator[bytes]:
    """Yield each item's JSON; `Problem` 413 beyond `ITEMS_MOST` items, or a line that is too long.

    Of lines no more than the one that is coming is kept; empty ones are passed over.
    """
    found = _lines(chunks) if media == NDJSON else _elements(chunks)
    count = 0
    async for item in found:
        count += 1
        if count > ITEMS_MOST:
            raise _too_many()
        yield item


async def _elements(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    body = b"".join([chunk async for chunk in chunks])
    try:
        found = _array.decode(body)
    except msgspec.ValidationError:
        raise Problem("unreadable", "the body must be a JSON array of tasks") from None
    except msgspec.DecodeError as error:
        raise Problem("unreadable", f"the body is not JSON: {error}") from None
    except RecursionError:
        raise Problem("unreadable", "the body is nested too deeply") from None
    if len(found) > ITEMS_MOST:
        raise _too_many()
    for item in found:
        yield bytes(item)


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if bare := _bounded(line):
                yield bare
        _bounded(rest)
    if bare := _bounded(rest):
        yield bare


def _bounded(line: bytes) -> bytes:
    if len(line) > LINE_BYTES:
        raise Problem("too_large", f"a line has at most {LINE_BYTES:,} bytes")
    return line.strip()


def _too_many() -> Problem:
    return Problem("too_large", f"a batch has at most {ITEMS_MOST:,} tasks; nothing was stored")
