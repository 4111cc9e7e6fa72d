"""An answer leaves in one piece, and nothing of it is kept for long (R8.4)."""

import asyncio
from typing import cast

from rota.server.joined import Joined


class Line:
    """A transport that tells what is sent, write by write."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.closing = False

    def write(self, data: bytes) -> None:
        self.sent.append(data)

    def writelines(self, pieces: tuple[bytes, ...]) -> None:
        self.sent.append(b"".join(pieces))

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self.closing = True


def joined(line: Line) -> Joined:
    return Joined(cast(asyncio.Transport, line))


async def test_headers_and_body_are_one_write() -> None:
    line = Line()
    answer = joined(line)
    answer.write(b"headers,")
    assert line.sent == []
    answer.write(b"body")
    assert line.sent == [b"headers,body"]


async def test_a_piece_alone_leaves_with_the_next_turn_of_the_loop() -> None:
    line = Line()
    joined(line).write(b"a sign of life")
    await asyncio.sleep(0)
    assert line.sent == [b"a sign of life"]


async def test_a_stream_keeps_one_piece_at_most_and_the_order() -> None:
    line = Line()
    stream = joined(line)
    for piece in (b"1", b"2", b"3", b"4", b"5"):
        stream.write(piece)
    assert line.sent == [b"12", b"34"]
    await asyncio.sleep(0)
    assert line.sent == [b"12", b"34", b"5"]


async def test_what_is_kept_is_sent_before_the_connection_is_closed() -> None:
    line = Line()
    last = joined(line)
    last.write(b"connection: close")
    last.close()
    assert line.sent == [b"connection: close"]
    assert line.closing


async def test_nothing_is_written_to_a_connection_that_has_gone() -> None:
    line = Line()
    gone = joined(line)
    gone.write(b"1")
    line.closing = True
    gone.write(b"2")
    gone.write(b"3")
    await asyncio.sleep(0)
    assert line.sent == []
