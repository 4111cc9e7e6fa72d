"""Answers leave in one piece: headers and body by themselves would cost two packets each."""

import asyncio
from typing import Any


class Joined:
    """A transport that keeps what is written until the next write, or the next turn of the loop.

    It never keeps more than one piece, so whoever is to be slowed down by a full line still is.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._kept: bytes | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Keep a first piece, and send it with a second one."""
        kept = self._kept
        if kept is None:
            self._kept = data
            self._loop.call_soon(self.flush)
            return
        self._kept = None
        if not self._transport.is_closing():
            self._transport.writelines((kept, data))

    def flush(self) -> None:
        """Send what is kept."""
        kept, self._kept = self._kept, None
        if kept is not None and not self._transport.is_closing():
            self._transport.write(kept)

    def close(self) -> None:
        """Send what is kept, and close the connection once it is sent."""
        self.flush()
        self._transport.close()
