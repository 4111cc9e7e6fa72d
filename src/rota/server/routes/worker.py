"""The worker protocol over HTTP, for workers in any language (R3, R8.4; docs/reference)."""

import uuid
from hashlib import sha256
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from rota.access import Role
from rota.backend import Report
from rota.clock import parse_id
from rota.config import LEASE, SECOND
from rota.http import wire
from rota.model import Micros, Session
from rota.policy.lifecycle import Released
from rota.remote import Standing
from rota.server import claiming, reporting
from rota.server.decoding import decoded, whole
from rota.server.holdings import Holding, no_session, session_gone
from rota.server.place import Place
from rota.server.problems import Problem
from rota.server.reports import FinishIn, ProgressIn
from rota.server.route import Answer, Call, In, Route, roles
from rota.times import show_instant

Problem.register("protocol_unsupported", 400, "No version of the worker protocol fits")

TAG = "workers"
LEASE_LEAST, LEASE_MOST = 1.0, 600.0

Text = Annotated[str, Meta(max_length=255, pattern=r"^[^\x00-\x1f\x7f]*$")]
Texts = Annotated[tuple[Text, ...], Meta(max_length=1_000)]
LeaseSeconds = Annotated[float, Meta(ge=LEASE_LEAST, le=LEASE_MOST)]


class OpenIn(In, frozen=True):
    """A worker that wants to begin; a repeat with the same `request_id` opens nothing anew."""

    request_id: Annotated[str, Meta(min_length=1, max_length=64)]
    protocol: Annotated[tuple[int, ...], Meta(min_length=1, max_length=16)] = (wire.PROTOCOL,)
    name: Text = ""
    host: Text = ""
    pid: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0
    version: Text = ""
    queues: Texts = ()
    kinds: Texts = ()
    slots: Annotated[int, Meta(ge=0, le=1_000_000)] = 1
    lease: LeaseSeconds = LEASE / SECOND


class BeatIn(In, frozen=True):
    """A sign of life; `held` says how many tasks the worker has, if it says so."""

    seq: Annotated[int, Meta(ge=0, le=wire.NUMBER_MOST)] = 0
    held: Annotated[int, Meta(ge=0, le=wire.NUMBER_MOST)] | None = None
    lease: LeaseSeconds | None = None


class CloseIn(In, frozen=True):
    """The end of a worker; with `release` what it still holds is handed back at once."""

    release: bool = True


async def open_session(call: Call) -> Answer:
    given: OpenIn = call.body
    place = call.place
    if wire.PROTOCOL not in given.protocol:
        raise Problem(
            "protocol_unsupported",
            f"this server speaks version {wire.PROTOCOL} of the worker protocol, the worker "
            f"{', '.join(map(str, given.protocol))}; update the older of the two",
        )
    now, owner, lease = place.clock.now(), call.caller.key_id, round(given.lease * SECOND)
    session_id = _session_id(owner, given.request_id)
    await place.engine.open_session(
        Session(
            id=session_id,
            name=given.name or session_id[:8],
            host=given.host,
            pid=given.pid,
            version=given.version,
            queues=tuple(given.queues),
            kinds=tuple(given.kinds),
            slots=given.slots,
            started_at=now,
            lease_until=now + lease,
            owner=owner,
        )
    )
    standing = await place.engine.standing(session_id)
    if standing is None or standing.owner != owner:
        raise no_session(session_id)
    if not standing.alive(now) or not await _leased(place, standing, now + lease):
        raise session_gone(session_id)
    place.holdings.opened(standing).lease = lease
    opened = _opened(standing, lease, now)
    return Answer(opened, 201, (("Location", f"/v1/sessions/{session_id}"),))


async def _leased(place: Place, standing: Standing, until: Micros) -> bool:
    """See to it that a session lives as long as its worker is told; False if it is over.

    One that was opened before, for an answer that was lost, has less of its lease left.
    """
    if standing.lease_until >= until:
        return True
    return (await place.engine.renew(standing.id, until - place.clock.now())).alive


def _opened(standing: Standing, lease: Micros, now: Micros) -> wire.Opened:
    return wire.Opened(
        standing.id,
        wire.PROTOCOL,
        wire.FEATURES,
        lease / SECOND,
        lease / SECOND / 3,
        wire.margin(lease),
        "active" if standing.drain_at is None else "drain",
        show_instant(now),
        {"claim": wire.CLAIM_MOST, "finish": wire.FINISH_MOST, "wait": int(wire.WAIT_MOST)},
    )


def _session_id(owner: str, request_id: str) -> str:
    """Return the id of the session that a request opens: always the same one for the same."""
    own = parse_id(request_id)
    if own is not None:
        return own
    digest = sha256(f"{owner}\n{request_id}".encode()).digest()
    return str(uuid.UUID(bytes=digest[:16]))


async def claim(call: Call) -> Answer:
    return await claiming.claim(call, await _holding(call))


async def finish(call: Call) -> Answer:
    holding = await _holding(call)
    return await reporting.finish(call, holding, decoded(_finish_in, await whole(call)))


async def progress(call: Call) -> Answer:
    holding = await _holding(call)
    return await reporting.progress(call, holding, decoded(_progress_in, await whole(call)))


# Read here and not before: what one item cannot have shall hold up none of the others.
_finish_in = msgspec.json.Decoder(FinishIn).decode
_progress_in = msgspec.json.Decoder(ProgressIn).decode


async def heartbeat(call: Call) -> Answer:
    holding = await _holding(call)
    given: BeatIn = call.body
    place = call.place
    lease: Micros = holding.lease or LEASE
    if given.lease is not None:
        lease = round(given.lease * SECOND)
    beat = await place.engine.renew(holding.session_id, lease)
    if not beat.alive:
        place.holdings.forget(holding.session_id)
        raise session_gone(holding.session_id)
    now = place.clock.now()
    lost, resync = await _compare(call, holding, given.held)
    stops = [
        wire.Stop(
            one.id,
            one.fence,
            None if one.deadline is None else max(one.deadline - now, 0) / SECOND,
        )
        for one in beat.cancels
    ]
    state = "drain" if beat.drain else "active"
    return Answer(
        wire.Heard(given.seq, lease / SECOND, state, show_instant(now), stops, lost, resync)
    )


async def _compare(
    call: Call, holding: Holding, held: int | None
) -> tuple[list[wire.HandOut], bool]:
    """Compare what the worker holds with what is known; twice different running means: look."""
    if held is None or held == len(holding):
        holding.differs = 0
        return [], False
    holding.differs += 1
    if holding.differs < 2:
        return [], False
    holding.differs = 0
    now = await call.place.engine.held(holding.session_id)
    lost = [wire.HandOut(task.id, task.fence) for task in holding.replace(now)]
    return lost, held != len(now)


async def held(call: Call) -> Answer:
    holding = await _holding(call)
    place = call.place
    now = await place.engine.held(holding.session_id)
    holding.replace(now)
    return Answer(
        wire.Holds([wire.handed(task, claiming.most_attempts(place, task)) for task in now])
    )


async def close(call: Call) -> Answer:
    holding = await _holding(call)
    given: CloseIn = call.body
    engine = call.place.engine
    released = 0
    if given.release:
        tasks = await engine.held(holding.session_id)
        reports = [Report(task, Released(), reporting.NO_POLICY) for task in tasks]
        released = sum(await engine.finish(holding.session_id, reports)) if reports else 0
    await engine.close_session(holding.session_id)
    call.place.holdings.forget(holding.session_id)
    return Answer(wire.Released(released))


async def drain(call: Call) -> Answer:
    session_id = parse_id(call.path["id"])
    if call.caller.scope.bound:
        raise Problem("forbidden", "sessions are for keys without a tenant and without queues")
    if session_id is None or not await call.place.engine.drain_session(session_id):
        raise Problem("not_found", "there is no such session, or it is over")
    return Answer({"session": session_id, "state": "drain"})


async def _holding(call: Call) -> Holding:
    return await call.place.holdings.of(call.path["id"], call.caller.key_id)


_GONE = ((410, "session_gone"),)


def _route(verb: str, run: Any, summary: str, **more: Any) -> Route:
    values: dict[str, Any] = {
        "method": "POST",
        "roles": roles(Role.WORKER),
        "codes": _GONE,
        "summed": True,
    }
    return Route(
        path=f"/v1/sessions/{{id}}/{verb}",
        name=f"session_{verb}",
        summary=summary,
        run=run,
        tag=TAG,
        **values | more,
    )


ROUTES = (
    Route(
        method="POST", path="/v1/sessions", name="session_open",
        summary="Begin to work; repeatable by request_id.", run=open_session,
        roles=roles(Role.WORKER), tag=TAG, takes=OpenIn, answers=wire.Opened, status=201,
        codes=((400, "protocol_unsupported"), (410, "session_gone")), audit="session.open",
        example={"request_id": "w-3-1", "name": "w-3", "queues": ["sms"], "slots": 50},
    ),
    _route(
        "claim", claim, "Take tasks; waits for some if there are none.",
        takes=claiming.ClaimIn, answers=wire.Got, codes=((409, "superseded"), *_GONE),
        audit="session.claim", example={"request": 1, "queues": ["sms"], "slots": 5, "wait_s": 0},
    ),
    _route(
        "heartbeat", heartbeat, "Renew the lease, and hear what is to stop.",
        takes=BeatIn, answers=wire.Heard, vital=True, example={"seq": 1, "held": 0},
    ),
    _route(
        "progress", progress, "Keep progress and checkpoints.", takes=ProgressIn,
        answers=wire.Verdicts, most=wire.REPORT_BYTES, audit="session.progress", raw=True,
        example={"items": []},
    ),
    _route(
        "finish", finish, "Report how tasks ended.", takes=FinishIn,
        answers=wire.Verdicts, most=wire.REPORT_BYTES, audit="session.finish", raw=True,
        example={"items": []},
    ),
    _route(
        "close", close, "End the session.", takes=CloseIn, answers=wire.Released, codes=(),
        audit="session.close", summed=False, example={"release": True},
    ),
    _route(
        "held", held, "List what the session holds.", method="GET", answers=wire.Holds, codes=(),
        summed=False,
    ),
    _route(
        "drain", drain, "Ask a worker to end in good order.", roles=roles(Role.OPERATE),
        answers=dict[str, Any], codes=(), audit="session.drain", summed=False,
    ),
)  # fmt: skip
