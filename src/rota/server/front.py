"""The ASGI application: every call goes through here, whatever its route (ADR 20)."""

import logging
from collections.abc import Awaitable, Iterable
from typing import Any, Protocol

import msgspec
from msgspec import structs

from rota.errors import InvalidTask
from rota.payload import find_nul
from rota.server import decoding
from rota.server.asgi import Receive, Scope, Send
from rota.server.body import Body, check_media, has_body
from rota.server.caller import NOBODY, Caller
from rota.server.deadlines import Deadlines
from rota.server.place import Place
from rota.server.problems import Outages, Problem, answer_of
from rota.server.query import read_query
from rota.server.rates import POLICY
from rota.server.reply import flow, head, reply
from rota.server.route import Answer, Call, Route, Stream
from rota.server.table import NOWHERE, Found, Ready, Table

log = logging.getLogger("rota.server")

IN_FLIGHT_MOST = 2_000
"""So many calls are under way at once; more are told to come back. Those that only wait, for work
or for news, have bounds of their own, and a heartbeat is let in all the same (B130)."""


class Access(Protocol):
    """Says who is calling, and keeps the record of what was changed (see `rota.server.access`)."""

    async def admit(
        self, route: Route | None, headers: dict[str, str], address: str, method: str
    ) -> Caller:
        """Return who is calling; a `Problem` (401, 403, 421, 429) if they may not come in.

        `route` is None if there is none for the path: without a key that is not told either.
        """
        ...

    def enter(self, call: Call) -> Awaitable[None]:
        """Take note of a change before it is made, if its route is `announced` (ADR 27)."""
        ...

    def leave(self, call: Call, answer: Answer | None, error: Exception | None) -> Awaitable[None]:
        """Take note of what became of a call that changes something (S17)."""
        ...

    def deny(self, route: Route, caller: Caller, headers: dict[str, str], address: str) -> None:
        """Take note that a change was asked for by somebody who lacks the role for it (S17)."""
        ...


class Front:
    """Answers HTTP requests by the table of routes."""

    def __init__(
        self, place: Place, table: Table, access: Access, *, most: int = IN_FLIGHT_MOST
    ) -> None:
        self.place = place
        self.table = table
        self.in_flight = 0
        self._access = access
        self._most = most
        self._deadlines = Deadlines(place.clock)
        self._outages = Outages(place.clock)
        place.admit = access.admit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; everything that goes wrong becomes a problem."""
        if scope["type"] != "http":
            raise NotImplementedError("the server speaks HTTP")
        clock = self.place.clock
        began = clock.monotonic()
        request_id = self.place.ids.new(clock.now())
        method: str = scope["method"]
        found, missing = self._find(scope, method)
        self.in_flight += 1
        self.place.metrics.in_flight = self.in_flight
        status = 499
        try:
            try:
                answer = await self._answer(scope, receive, request_id, found, missing)
                headers = head(answer, request_id)
            except Exception as error:
                answer = answer_of(error, scope["path"], request_id, self._outages)
                headers = head(answer, request_id)
            if isinstance(answer, Stream):
                status = 200
                await flow(send, receive, answer, headers)
            else:
                status = answer.status
                await reply(send, answer, headers, bodiless=method == "HEAD")
        finally:
            self.in_flight -= 1
            self.place.metrics.in_flight = self.in_flight
            known = found is not None and NOWHERE not in found.path
            template = found.ready.route.path if found is not None and known else "unmatched"
            self.place.seen(template, method, status, clock.monotonic() - began)

    async def _answer(
        self,
        scope: Scope,
        receive: Receive,
        request_id: str,
        found: Found | None,
        missing: Problem | None,
    ) -> Answer | Stream:
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        if len(headers) != len(scope["headers"]):
            _check_once(scope["headers"])
        address = (scope.get("client") or ("", 0))[0]
        caller = await self._let_in(found, headers, address, scope["method"])
        if found is None:
            if missing is None:  # somebody asks what there is
                return Answer(status=204, headers=(("Allow", self.table.allowed(_path(scope))),))
            raise missing
        route = found.ready.route
        call = Call(
            place=self.place,
            route=route,
            caller=caller,
            request_id=request_id,
            address=address,
            headers=headers,
            path=found.path,
            query=None if route.any_query else _query(route, scope),
        )
        body = Body(receive, headers, route.most, self._deadlines)
        call.gone = body.gone
        if route.raw:
            check_media(headers, route.media)
            call.raw = body.chunks()
        elif found.ready.body is not None:
            call.body = await _read(found.ready, headers, body)
        return await self._carry_out(call)

    async def _let_in(
        self, found: Found | None, headers: dict[str, str], address: str, method: str
    ) -> Caller:
        """Return who is calling, who may call what was found; `Problem` if they may not come in."""
        route = None if found is None else found.ready.route
        if route is None or route.roles is not None:
            self._check_room(route)
        caller = await self._access.admit(route, headers, address, method)
        if route is None:
            return caller
        if route.roles is None:
            return NOBODY
        if not caller.may(route.roles):
            if route.audit is not None:
                self._access.deny(route, caller, headers, address)
            needed = " or ".join(sorted(route.roles))
            raise Problem("forbidden", f"this takes a key with the role {needed}")
        return caller

    def _check_room(self, route: Route | None) -> None:
        if self.place.draining:
            raise Problem(
                "shutting_down",
                "this server stops; another one, or the next, will answer",
                headers=(("Retry-After", "1"), ("Connection", "close")),
            )
        if self.in_flight <= self._most or (route is not None and route.vital):
            return
        if self.in_flight - self.place.patient > self._most:
            raise Problem(
                "busy",
                f"{self._most:,} calls are under way; try again",
                headers=(("Retry-After", "1"),),
            )

    def _find(self, scope: Scope, method: str) -> tuple[Found | None, Problem | None]:
        path = _path(scope)
        try:
            if method == "OPTIONS":
                self.table.allowed(path)
                return None, None
            found = self.table.find("GET" if method == "HEAD" else method, path)
        except Problem as missing:
            if missing.meaning.status == 404 and method in ("GET", "HEAD") and _reads(scope):
                page = self.table.page(path)
                return page, None if page is not None else missing
            return None, missing
        if method == "HEAD" and found.ready.route.stream:
            return None, Problem("method_not_allowed", "a stream has no HEAD; open it with GET")
        return found, None

    async def _carry_out(self, call: Call) -> Answer | Stream:
        if call.route.audit is None:
            return _told_of_rate(call, await call.route.run(call))
        if call.route.announced:
            await self._access.enter(call)
        try:
            answer = await call.route.run(call)
        except Exception as error:
            await self._access.leave(call, None, error)
            raise
        if isinstance(answer, Answer):
            await self._access.leave(call, answer, None)
        return _told_of_rate(call, answer)


def _told_of_rate(call: Call, answer: Answer | Stream) -> Answer | Stream:
    """Return the answer, with what is left to a caller who has little left."""
    bucket = call.caller.bucket
    if bucket is None or not bucket.low:
        return answer
    return structs.replace(answer, headers=(*answer.headers, *bucket.headers(POLICY)))


ONCE = frozenset(
    {
        *(b"host", b"authorization", b"origin", b"sec-fetch-site", b"rota-csrf"),
        *(b"content-type", b"content-encoding", b"idempotency-key", b"if-match"),
    }
)
"""Headers of which a proxy and this server could each believe another one."""


def _check_once(headers: Iterable[tuple[bytes, bytes]]) -> None:
    names = [name for name, _ in headers]
    for name in ONCE:
        if names.count(name) > 1:
            raise Problem("unreadable", f"the header {name.decode()} is there twice")


def _query(route: Route, scope: Scope) -> Any:
    return read_query(route.query, scope.get("query_string", b""))


def _reads(scope: Scope) -> bool:
    """Say whether a person asks: their browser says that it takes pages."""
    return any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])


def _path(scope: Scope) -> str:
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw.decode("ascii", "replace")


async def _read(ready: Ready, headers: dict[str, str], body: Body) -> Any:
    if ready.optional and not has_body(headers):
        return ready.body.decode(b"{}")
    check_media(headers, ready.route.media)
    return decoded(ready.body, await body.whole())


def decoded(decoder: "msgspec.json.Decoder[Any]", body: bytes) -> Any:
    """Return a body as a value of its type; `Problem` 400 if it is no JSON, 422 if of no fit."""
    value = decoding.decoded(decoder.decode, body, decoder.type)
    if b"\\u0000" in body and (field := find_nul(msgspec.json.decode(body))) is not None:
        raise InvalidTask(field or "body", "has a NUL character")
    return value
