"""The client of a server: what clients and workers need, over HTTP (R8.4, ADR 21)."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from rota.backend import Claim, Report
from rota.clock import Clock, SystemClock
from rota.config import SECOND
from rota.errors import ClaimSuperseded, SessionGone, StoreError, StoreUnavailable, TaskNotFound
from rota.http import wire
from rota.http.link import SECONDS, Address, Link
from rota.http.pulse import HttpPulse
from rota.http.verbs import ROLES, verb
from rota.model import Claimed, Micros, Note, Session, Staged
from rota.policy.explain import Facts
from rota.policy.lifecycle import (
    Cancelled,
    Completed,
    Expired,
    Failed,
    Released,
    Snoozed,
    TimedOut,
)
from rota.policy.retry import Backoff
from rota.schedule import Admitted, Fired
from rota.store.base import Pulse, Wake
from rota.times import show_instant

_got = msgspec.json.Decoder(wire.Got)
_holds = msgspec.json.Decoder(wire.Holds)
_verdicts = msgspec.json.Decoder(wire.Verdicts)


_LAST: Micros = 253_402_300_799 * SECOND
"""The last second that a date can be written of."""


class _Item(Struct, frozen=True, omit_defaults=True, gc=False):
    id: str
    fence: int
    outcome: str
    result: Raw | UnsetType = UNSET
    error: dict[str, str] | None = None
    permanent: bool = False
    retry_after: float | None = None
    retry_least: float | None = None
    until: str | None = None
    reason: str = ""
    retry: Backoff | None = None
    keep: bool = True
    seconds: float | None = None


class HttpBackend:
    """Implements `rota.backend.Backend` against a server.

    Worker verbs speak the worker protocol; all others go as they are (`rota.http.verbs`). Duties
    find nothing to do here: servers do them.
    """

    distant = True

    def __init__(self, url: str, token: str | None = None, clock: Clock | None = None) -> None:
        self.clock: Clock = clock or SystemClock()
        self._address = Address(url, token)
        self._link = Link(self._address)
        self._numbers: dict[str, int] = {}
        self._unsure: dict[str, bytes] = {}

    def __repr__(self) -> str:
        return f"HttpBackend({self._address.url!r})"

    async def open(self) -> None:
        self._link.open()
        body = await self._link.ask("POST", "/v1/backend/clock", b"{}")
        self.clock.observe(msgspec.json.decode(body)["value"], self.clock.monotonic())

    async def close(self) -> None:
        await self._link.close()

    async def call(self, name: str, *values: Any, **named: Any) -> Any:
        """Call a verb of the seam as it is."""
        known = verb(name)
        body = await self._link.ask("POST", f"/v1/backend/{name}", known.ask(*values, **named))
        try:
            return known.answered(body)
        except msgspec.DecodeError as error:
            raise StoreError(f"{self._address} answers strangely: {error}") from error

    async def facts(self, task_id: str) -> Facts:
        """Return the facts about a task as the server sees them (R7.8)."""
        body = await self._link.ask("POST", "/v1/backend/facts", wire.encode({"id": task_id}))
        found = msgspec.json.decode(body, type=_FactsOut).value
        if found is None:
            raise TaskNotFound(task_id)
        return found

    async def test_webhook(self, webhook_id: str) -> dict[str, Any]:
        """Have the server send a test message to an endpoint; return what came of it (R4.5)."""
        path = f"/v1/webhooks/{quote(webhook_id, safe='')}/test"
        found: dict[str, Any] = msgspec.json.decode(await self._link.ask("POST", path, None))
        return found

    # -- the worker protocol --------------------------------------------------------------------

    async def open_session(self, session: Session) -> None:
        asked = {
            "request_id": session.id,
            "protocol": [wire.PROTOCOL],
            "name": session.name,
            "host": session.host,
            "pid": session.pid,
            "version": session.version,
            "queues": session.queues,
            "kinds": session.kinds,
            "slots": session.slots,
            "lease": (session.lease_until - session.started_at) / SECOND,
        }
        await self._link.ask("POST", "/v1/sessions", wire.encode(asked))

    async def claim(
        self,
        session_id: str,
        queues: Sequence[str],
        slots: int,
        avoid: Sequence[str],
        *,
        spare: int = 0,
    ) -> Claim:
        number = self._numbers.get(session_id, 0) + 1
        self._numbers[session_id] = number
        asked = {
            "request": number,
            "queues": queues,
            "slots": min(slots, wire.CLAIM_MOST),
            "avoid": avoid,
            "spare": min(spare, wire.CLAIM_MOST),
            "wait_s": 0,
        }
        body = wire.encode(asked)
        self._unsure[session_id] = body
        got = await self._claim(session_id, body)
        self._unsure.pop(session_id, None)
        if got is None or got.repeated:
            return Claim([])
        again_at = None if got.again_at is None else wire.instant_of(got.again_at)
        return Claim([wire.claimed(task) for task in got.tasks], again_at, got.spared)

    async def _claim(self, session_id: str, body: bytes) -> wire.Got | None:
        try:
            answer = await self._ask(session_id, "claim", body)
        except ClaimSuperseded:
            return None
        return _got.decode(answer)

    async def held(self, session_id: str) -> list[Claimed]:
        if (unsure := self._unsure.get(session_id)) is not None:
            # The claim whose answer was lost may still be at work at the server: its number is
            # repeated until that is over, or it would take what nobody hears of.
            await self._claim(session_id, unsure)
            self._unsure.pop(session_id, None)
        answer = await self._ask(session_id, "held", None, method="GET")
        return [wire.claimed(task) for task in _holds.decode(answer).tasks]

    async def finish(self, session_id: str, reports: Sequence[Report]) -> list[bool]:
        applied: list[bool] = []
        for at in range(0, len(reports), wire.FINISH_MOST):
            items = [_item(report) for report in reports[at : at + wire.FINISH_MOST]]
            applied += await self._report(session_id, "finish", items)
        return applied

    async def note(self, session_id: str, notes: Sequence[Note]) -> list[bool]:
        kept: list[bool] = []
        for at in range(0, len(notes), wire.FINISH_MOST):
            items = [_noted(note) for note in notes[at : at + wire.FINISH_MOST]]
            kept += await self._report(session_id, "progress", items)
        return kept

    async def _report(self, session_id: str, what: str, items: Sequence[Any]) -> list[bool]:
        try:
            answer = await self._ask(session_id, what, wire.encode({"items": items}))
        except SessionGone:
            return [False] * len(items)
        said = _verdicts.decode(answer).items
        for one in said:
            if one.verdict == "invalid":
                raise StoreError(f"task {one.id}: {one.problem}")
        # What was carried out before under this very fence was a repeat after a lost answer.
        return [one.verdict in ("applied", "duplicate") for one in said]

    async def close_session(self, session_id: str) -> None:
        self._numbers.pop(session_id, None)
        self._unsure.pop(session_id, None)
        with suppress(SessionGone):
            await self._ask(session_id, "close", wire.encode({"release": False}))

    def pulse(self) -> Pulse:
        return HttpPulse(self._address, self.clock)

    async def listen(self, wake: Wake) -> None:
        async for line in self._link.lines("/v1/hints", 3 * wire.STREAM_QUIET):
            if line.strip():
                wake(msgspec.json.decode(line)["at"])
        raise StoreUnavailable(f"{self._address} ended its stream of hints")

    async def _ask(
        self, session_id: str, what: str, body: bytes | None, *, method: str = "POST"
    ) -> bytes:
        path = f"/v1/sessions/{session_id}/{what}"
        try:
            return await self._link.ask(method, path, body, seconds=SECONDS)
        except TaskNotFound:
            raise SessionGone(session_id) from None  # what the server does not know is over

    # -- duties: servers do them ----------------------------------------------------------------

    async def stage(self) -> Staged:
        return Staged(0)

    async def admit(self) -> Admitted:
        return Admitted(0)

    async def fire(self) -> Fired:
        return Fired(0, 0)

    async def replan(self) -> int:
        return 0

    async def reap(self) -> int:
        return 0

    async def sweep(self) -> int:
        return 0

    async def prune(self) -> int:
        return 0

    async def flush(self) -> None:
        """Do nothing: servers count what comes through them."""

    def forget_session(self, session_id: str) -> None:
        self._numbers.pop(session_id, None)


class _FactsOut(Struct, frozen=True):
    value: Facts | None


def _item(report: Report) -> _Item:
    task, ending = report.task, report.ending
    match ending:
        case Completed(result):
            made = UNSET if result is None else Raw(result)
            return _Item(
                task.id, task.fence, "completed", made, keep=report.keep, seconds=report.seconds
            )
        case Failed(error, permanent, after, least):
            more: dict[str, Any] = {"permanent": permanent, "error": _told(error)}
            if after is not None:
                more["retry_after"] = after / SECOND
            if least is not None:
                more["retry_least"] = least / SECOND
            outcome = "failed"
        case TimedOut(error):
            outcome, more = "timed_out", {"error": _told(error)}
        case Snoozed(until):
            outcome, more = "snooze", {"until": show_instant(min(max(until, 0), _LAST))}
        case Cancelled(reason):
            outcome, more = "cancelled", {"reason": reason}
        case Released():
            outcome, more = "released", {}
        case Expired():
            outcome, more = "expired", {}
        case _:
            raise StoreError(f"a worker cannot report {type(ending).__name__}")
    return _Item(task.id, task.fence, outcome, retry=report.backoff, seconds=report.seconds, **more)


def _told(error: Any) -> dict[str, str]:
    return {"type": error.type, "message": error.message, "traceback": error.traceback}


def _noted(note: Note) -> dict[str, Any]:
    item: dict[str, Any] = {"id": note.id, "fence": note.fence}
    if note.done is not None:
        item["done"] = note.done
    if note.total is not None:
        item["total"] = note.total
    if note.checkpoint is not None:
        item["checkpoint"] = Raw(note.checkpoint)
    return item


def _as_it_is(name: str) -> Callable[..., Any]:
    async def ask(self: HttpBackend, *values: Any, **named: Any) -> Any:
        return await self.call(name, *values, **named)

    ask.__name__ = name
    return ask


for _name in ROLES:
    setattr(HttpBackend, _name, _as_it_is(_name))
