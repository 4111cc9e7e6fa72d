"""Runs calls of URLs as a worker would, with names that resolve as a test wants."""

import base64
import socket
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

from rota import Context
from rota.config import SECOND
from rota.contrib import http_call
from rota.contrib._addresses import PUBLIC, Reach
from rota.contrib._fetch import Fetcher
from rota.contrib.http_call import Line
from tests.node.fakes import claimed
from tests.support.hooks import Receiver

SLOT = 1_800_000_000 * SECOND
SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()


class Names(AbstractResolver):
    """Resolves each name to the next of its answers; the last one stays."""

    def __init__(self, **answers: list[list[str]]) -> None:
        self.answers = {name.replace("_", "."): found for name, found in answers.items()}
        self.asked: list[str] = []

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        self.asked.append(host)
        if host not in self.answers:
            raise OSError(f"{host} is not known")
        left = self.answers[host]
        found = left.pop(0) if len(left) > 1 else left[0]
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=0,
            )
            for address in found
        ]

    async def close(self) -> None: ...


class Caller:
    """Runs calls as a worker would, with a resolver of the test's own."""

    def __init__(self) -> None:
        self.line = Line()
        self.line.now = lambda: SLOT
        self.handler = http_call._handler(self.line)
        self.names = Names()

    async def __call__(self, url: str, *, reach: Reach = PUBLIC, **given: Any) -> dict[str, Any]:
        headers = given.pop("task_headers", None)
        task = claimed(kind="http", attempt=3, slot=SLOT, schedule="s", headers=headers)
        fetcher = Fetcher(reach, self.names)
        try:
            ctx = Context(task, SLOT + 30 * SECOND)
            result: dict[str, Any] = await self.handler(ctx, url=url, fetcher=fetcher, **given)
            return result
        finally:
            await fetcher.close()

    async def to(self, there: Receiver, **given: Any) -> dict[str, Any]:
        """Call an endpoint on this machine, which is allowed."""
        return await self(there.url, reach=Reach.of(["127.0.0.1"], [there.port]), **given)
