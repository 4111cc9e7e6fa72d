"""Listeners to a server's events: many connections that one thread reads and throws away."""

import select
import socket
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

READ = 1 << 16
TOPICS = "tasks"


class Listeners:
    """So many open streams, shared out over the keys; `frames` is how many came in all."""

    def __init__(self, url: str, tokens: Sequence[str], count: int) -> None:
        self._address = urlsplit(url)
        self._tokens = tokens
        self._count = count
        self._sockets: list[socket.socket] = []
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self.frames = 0

    def __enter__(self) -> Self:
        for number in range(self._count):
            self._sockets.append(self._opened(self._tokens[number % len(self._tokens)]))
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ending.set()
        self._thread.join()
        for one in self._sockets:
            one.close()

    def _opened(self, token: str) -> socket.socket:
        one = socket.create_connection((self._address.hostname, self._address.port or 80))
        one.sendall(
            f"GET /v1/events?topics={TOPICS} HTTP/1.1\r\nhost: {self._address.netloc}\r\n"
            f"authorization: Bearer {token}\r\n\r\n".encode()
        )
        status = one.recv(READ).partition(b"\r\n")[0]
        if b" 200 " not in status:
            raise RuntimeError(f"a listener was answered {status!r}")
        return one

    def _read(self) -> None:
        poll = select.epoll()
        by_number = {one.fileno(): one for one in self._sockets}
        for number in by_number:
            poll.register(number, select.EPOLLIN)
        while not self._ending.is_set():
            for number, _ in poll.poll(0.1):
                came = by_number[number].recv(READ)
                if not came:
                    poll.unregister(number)
                self.frames += came.count(b"event: tasks")
        poll.close()
