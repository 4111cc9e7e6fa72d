"""`GET /v1/hints`: signs of work, for workers that wait beside their claims (R2.2, R8.4)."""

import asyncio
from collections.abc import AsyncIterator

from rota.access import Role
from rota.http import wire
from rota.server.problems import Problem
from rota.server.route import Call, Route, Stream, roles
from rota.server.waiting import QUIET

STREAMS_MOST = 2_000


async def hints(call: Call) -> Stream:
    place = call.place
    if place.streams >= STREAMS_MOST:
        raise Problem("too_many_streams", "too many workers listen here; poll instead")
    place.streams += 1
    ends = asyncio.ensure_future(_hung_up(call))

    def ended() -> None:
        place.streams -= 1
        ends.cancel()

    return Stream(_chunks(call, ends), wire.HINTS_MEDIA, ended=ended)


async def _hung_up(call: Call) -> None:
    if call.gone is None:
        await asyncio.Event().wait()
    else:
        await call.gone()


async def _chunks(call: Call, ends: "asyncio.Future[None]") -> AsyncIterator[bytes]:
    async for at in call.place.waiting.hints(ends, wire.STREAM_QUIET):
        yield b"\n" if at == QUIET else wire.encode({"at": at}) + b"\n"


ROUTES = (
    Route(
        method="GET", path="/v1/hints", name="hints_stream",
        summary="Hear of work as soon as there is some.", run=hints,
        roles=roles(Role.WORKER, Role.READ), tag="workers", codes=((429, "too_many_streams"),),
        stream=True,
    ),
)  # fmt: skip
