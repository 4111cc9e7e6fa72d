"""Asks a server without a network: requests go straight into its ASGI application."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from rota.access import EVERYTHING, Role, Scope
from rota.server.caller import NOBODY, Caller
from rota.server.problems import Problem
from rota.server.route import Answer, Call, Route


class Told(Struct, frozen=True):
    """What a server answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return msgspec.json.decode(self.body)

    @property
    def code(self) -> str | None:
        """The code of the problem, if it is one."""
        problem = "problem" in self.headers.get("content-type", "")
        return str(self.json["code"]) if problem else None


class Asker:
    """Sends requests to an ASGI application, with one key."""

    def __init__(self, application: Any, key: str | None = None) -> None:
        self._application = application
        self._key = key

    def using(self, key: str | None) -> "Asker":
        """Return an asker with another key."""
        return Asker(self._application, key)

    async def ask(
        self,
        method: str,
        address: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        raw: bytes | Sequence[bytes] | None = None,
    ) -> Told:
        """Send one request and return the whole answer; `body` is sent as JSON, `raw` as it is."""
        sent: list[Any] = []
        scope = self._scope(method, address, headers or {}, body is not None or raw is not None)
        await self._application(scope, _receiving(_parts(body, raw)), _sending(sent))
        head = next(message for message in sent if message["type"] == "http.response.start")
        whole = b"".join(m.get("body", b"") for m in sent if m["type"] == "http.response.body")
        return Told(head["status"], {k.decode(): v.decode() for k, v in head["headers"]}, whole)

    async def stream(
        self, address: str, *, headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Open a stream and yield its chunks as they come; closing it hangs up."""
        chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        hung_up = asyncio.Event()

        async def receive() -> dict[str, Any]:
            await hung_up.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.body":
                chunks.put_nowait(message.get("body", b""))
                if not message.get("more_body", False):
                    chunks.put_nowait(None)

        scope = self._scope("GET", address, headers or {}, False)
        serving = asyncio.ensure_future(self._application(scope, receive, send))
        try:
            while (chunk := await chunks.get()) is not None:
                yield chunk
        finally:
            hung_up.set()
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)

    def _scope(
        self, method: str, address: str, headers: Mapping[str, str], with_body: bool
    ) -> dict[str, Any]:
        path, _, query = address.partition("?")
        sent = {"host": "localhost", **{k.lower(): v for k, v in headers.items()}}
        if self._key is not None:
            sent.setdefault("authorization", f"Bearer {self._key}")
        if with_body:
            sent.setdefault("content-type", "application/json")
            if "content-length" not in sent:
                sent.setdefault("transfer-encoding", "chunked")
        return {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(k.encode("latin-1"), v.encode("latin-1")) for k, v in sent.items()],
            "client": ("127.0.0.1", 50_000),
            "server": ("127.0.0.1", 8300),
        }


def _parts(body: Any, raw: bytes | Sequence[bytes] | None) -> list[bytes]:
    if raw is None:
        return [b"" if body is None else msgspec.json.encode(body)]
    return [raw] if isinstance(raw, bytes) else list(raw)


def _receiving(parts: list[bytes]) -> Any:
    left = list(parts)

    async def receive() -> dict[str, Any]:
        if not left:
            await asyncio.Event().wait()
        chunk = left.pop(0)
        return {"type": "http.request", "body": chunk, "more_body": bool(left)}

    return receive


def _sending(sent: list[Any]) -> Any:
    async def send(message: Any) -> None:
        sent.append(message)

    return send


class KnownKeys:
    """Access for tests of routes: the keys are the names of roles, or `role@tenant`."""

    def __init__(self) -> None:
        self.left: list[tuple[Call, Answer | None, Exception | None]] = []

    async def admit(
        self, route: Route | None, headers: dict[str, str], address: str, method: str
    ) -> Caller:
        if route is not None and route.roles is None:
            return NOBODY
        word = headers.get("authorization", "").removeprefix("Bearer ")
        name, _, tenant = word.partition("@")
        if name not in set(Role):
            raise Problem("unauthorised", "give a key: Authorization: Bearer rota_…")
        scope = Scope(tenant=tenant) if tenant else EVERYTHING
        return Caller.of(word, word, (Role(name),), scope)

    async def enter(self, call: Call) -> None: ...

    def deny(self, route: Route, caller: Caller, headers: dict[str, str], address: str) -> None: ...

    async def leave(self, call: Call, answer: Answer | None, error: Exception | None) -> None:
        self.left.append((call, answer, error))
