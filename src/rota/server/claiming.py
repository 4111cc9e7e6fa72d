"""Claims of remote workers: by number, and waiting for work without a query of their own (R8.4)."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

from msgspec import Meta, structs

from rota.backend import Claim, Report
from rota.config import NAME_PATTERN
from rota.errors import ClaimSuperseded, ConfigurationError, SessionGone
from rota.http.wire import CLAIM_MOST, NUMBER_MOST, WAIT_MOST, Got, handed
from rota.model import Claimed
from rota.policy.lifecycle import Released
from rota.policy.retry import Backoff
from rota.remote import Numbered, Standing
from rota.server.holdings import Holding, no_session, session_gone
from rota.server.place import Place
from rota.server.problems import Problem
from rota.server.reporting import NO_POLICY
from rota.server.route import Answer, Call, In
from rota.times import show_instant

QUEUES_MOST = 1_000
AVOID_MOST = 1_000
WAITING_MOST = 10_000
ANSWER_CHARS = 8 * 1024 * 1024
"""The contents of the tasks of one claim come to so much at most, or are those of one task."""

Name = Annotated[str, Meta(pattern=f"^{NAME_PATTERN}$", max_length=128)]


class ClaimIn(In, frozen=True):
    """A claim: at most `slots` tasks of these queues; `request` numbers the session's claims.

    Tasks of the kinds in `avoid` are left to others, and of tasks under limits none are taken for
    the last `spare` slots. Without work it waits for `wait_s` seconds.
    """

    request: Annotated[int, Meta(ge=1, le=NUMBER_MOST)]
    queues: Annotated[list[Name], Meta(min_length=1, max_length=QUEUES_MOST)]
    slots: Annotated[int, Meta(ge=1, le=CLAIM_MOST)]
    avoid: Annotated[tuple[Name, ...], Meta(max_length=AVOID_MOST)] = ()
    spare: Annotated[int, Meta(ge=0, le=CLAIM_MOST)] = 0
    wait_s: Annotated[float, Meta(ge=0, le=WAIT_MOST)] = 20.0


async def claim(call: Call, holding: Holding) -> Answer:
    """Hand out tasks under the number of the claim, once, whatever is repeated (S13)."""
    asked: ClaimIn = call.body
    place = call.place
    if asked.request < holding.newest:
        raise _superseded(asked.request)
    holding.newest = asked.request
    ends = holding.supersede()
    standing = await _standing(place, holding)
    if asked.request < standing.claimed:
        raise _superseded(asked.request)
    if asked.request == standing.claimed:
        return await _repeated(place, holding, asked, standing)
    if standing.drain_at is not None:
        return _answer(place, asked, Claim([]), "drain")
    one = _One(call, holding, asked, ends)
    try:
        got = await one.run()
    except ClaimSuperseded:
        standing = await _standing(place, holding)
        if standing.claimed != asked.request:
            raise _superseded(asked.request) from None
        return await _repeated(place, holding, asked, standing)
    except SessionGone:
        raise await _gone(place, holding) from None
    holding.take_in(got.tasks)
    return _answer(place, asked, got, "active")


class _One:
    """A claim that goes on: it looks, and waits for its turn to look again."""

    def __init__(
        self, call: Call, holding: Holding, asked: ClaimIn, superseded: asyncio.Event
    ) -> None:
        self._place = call.place
        self._call = call
        self._holding = holding
        self._asked = asked
        self._superseded = superseded
        self._numbered = Numbered(asked.request)
        self._tenant = call.caller.scope.tenant
        self._queues = _within(asked.queues, call.caller.scope.queues)

    async def run(self) -> Claim:
        """Return what was got; nothing if nothing came in time, or the server drains."""
        got = await self._look()
        if got.tasks or not self._asked.wait_s or self._place.waiting.over.is_set():
            return got
        clock, waiting = self._place.clock, self._place.waiting
        if waiting.waiting >= WAITING_MOST:
            raise Problem(
                "busy",
                f"{WAITING_MOST:,} claims wait here already; nothing was taken",
                headers=(("Retry-After", "5"),),
            )
        ends: list[asyncio.Future[Any]] = [
            asyncio.ensure_future(end)
            for end in (
                self._hung_up(),
                self._superseded.wait(),
                clock.sleep(self._asked.wait_s),
                waiting.over.wait(),
            )
        ]
        like = (self._tenant, tuple(self._queues), tuple(self._asked.avoid))
        try:
            with waiting.place(like) as spot:
                while await _turn(spot.turn, ends):
                    got = await self._look()
                    spot.looked(found=bool(got.tasks), again_at=got.again_at)
                    if got.tasks:
                        break
        finally:
            for end in ends:
                end.cancel()
        if self._superseded.is_set() and not got.tasks:
            raise ClaimSuperseded(self._holding.session_id)
        return got

    async def _look(self) -> Claim:
        holding, slots = self._holding, self._asked.slots
        if holding.usual_size:
            slots = min(slots, max(1, ANSWER_CHARS // holding.usual_size))
        async with holding.turn:
            got = await self._place.engine.claim_numbered(
                holding.session_id,
                self._numbered,
                self._queues,
                slots,
                self._asked.avoid,
                spare=max(0, self._asked.spare - (self._asked.slots - slots)),
                tenant=self._tenant,
            )
            return await self._bounded(got)

    async def _bounded(self, got: Claim) -> Claim:
        """Hand back at once, as if never handed out, what would make the answer too large.

        How large tasks are is not known before they are taken; the next claim goes by these.
        """
        holding, sizes = self._holding, [_size(task) for task in got.tasks]
        if sizes:
            holding.usual_size = sum(sizes) // len(sizes)
        fit = _fit(sizes)
        if fit == len(sizes):
            return got
        back = [Report(task, Released(), NO_POLICY) for task in got.tasks[fit:]]
        await self._place.engine.finish(holding.session_id, back)
        return structs.replace(got, tasks=got.tasks[:fit], again_at=self._place.clock.now())

    async def _hung_up(self) -> None:
        """Wait until the caller is gone: nothing is taken for whoever would not hear of it."""
        if self._call.gone is None:
            await asyncio.Event().wait()
        else:
            await self._call.gone()


async def _turn(turn: asyncio.Event, ends: list["asyncio.Future[Any]"]) -> bool:
    """Wait for the turn to look; False if something ended the wait before."""
    waiting = asyncio.ensure_future(turn.wait())
    try:
        await asyncio.wait((waiting, *ends), return_when=asyncio.FIRST_COMPLETED)
        return waiting.done() and not any(end.done() for end in ends)
    finally:
        waiting.cancel()


async def _repeated(place: Place, holding: Holding, asked: ClaimIn, standing: Standing) -> Answer:
    """Answer what the session holds: the first answer to this number may have been lost."""
    async with holding.turn:  # what is being handed back is held no more
        await place.engine.end_claim(holding.session_id, asked.request)
        held = await place.engine.held(holding.session_id)
    holding.replace(held)
    state = "active" if standing.drain_at is None else "drain"
    return _answer(place, asked, Claim(held), state, repeated=True)


async def _standing(place: Place, holding: Holding) -> Standing:
    standing = await place.engine.standing(holding.session_id)
    if standing is None:
        place.holdings.forget(holding.session_id)
        raise no_session(holding.session_id)
    if not standing.alive(place.clock.now()):
        raise await _gone(place, holding)
    return standing


async def _gone(place: Place, holding: Holding) -> Problem:
    place.holdings.forget(holding.session_id)
    return session_gone(holding.session_id)


def _superseded(number: int) -> Problem:
    return Problem("superseded", f"a newer claim than {number} stands; nothing was taken")


def _size(task: Claimed) -> int:
    contents = (task.payload, task.headers, task.checkpoint)
    return sum(len(text) for text in contents if text is not None)


def _fit(sizes: Sequence[int]) -> int:
    """Return how many of the first tasks fit into one answer: at least one, if there is any.

    >>> _fit([5, 5]), _fit([ANSWER_CHARS + 1, 1]), _fit([])
    (2, 1, 0)
    """
    total = 0
    for count, size in enumerate(sizes):
        total += size
        if total > ANSWER_CHARS:
            return max(count, 1)
    return len(sizes)


def _within(queues: list[str], reach: tuple[str, ...] | None) -> list[str]:
    left = queues if reach is None else [queue for queue in queues if queue in reach]
    if not left:
        raise Problem("forbidden", "the key is for other queues than these")
    return list(dict.fromkeys(left))


def _answer(
    place: Place, asked: ClaimIn, got: Claim, state: str, *, repeated: bool = False
) -> Answer:
    again_at = None if got.again_at is None else show_instant(got.again_at)
    tasks = [handed(task, most_attempts(place, task)) for task in got.tasks]
    return Answer(Got(asked.request, repeated, state, tasks, again_at, got.spared))


def most_attempts(place: Place, task: Claimed) -> int:
    """Return how often a task is tried at most, as far as this server knows."""
    if task.retry is not None:
        with suppress(ConfigurationError):
            return Backoff.from_json(task.retry).max_attempts
    kind = place.app.registry.get(task.kind)
    return (Backoff() if kind is None else kind.retry).max_attempts
