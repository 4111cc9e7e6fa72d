"""The client of a server: what clients and workers need, over HTTP (R8.4, ADR 21)."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from rota.backend import Claim, Report
from rota.clock import Clock, SystemClock
from rota.config import SECOND
from rota.errors import ClaimSuperseded, SessionGone, StoreError, StoreUnavailable, TaskNotFound
from rota.http import wire
from rota.http.failures import TooLarge
from rota.http.link import SECONDS, Address, Link
from rota.http.pulse import HttpPulse
from rota.http.reports import Verdicts, ended, noted
from rota.http.verbs import ROLES, verb
from rota.model import Claimed, Note, Session, Staged
from rota.policy.explain import Facts
from rota.schedule import Admitted, Fired
from rota.store.base import Pulse, Wake

T = TypeVar("T")


class _Opened(Struct, frozen=True):
    features: frozenset[str] = frozenset()


_opened = msgspec.json.Decoder(_Opened).decode
_got = msgspec.json.Decoder(wire.Got).decode
_holds = msgspec.json.Decoder(wire.Holds).decode
_verdicts = msgspec.json.Decoder(Verdicts).decode


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
        self._features: frozenset[str] = frozenset(wire.FEATURES)

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
        return self._read(known.answered, body)

    def _read(self, decode: Callable[[bytes], T], body: bytes) -> T:
        try:
            return decode(body)
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
        answer = await self._link.ask("POST", "/v1/sessions", wire.encode(asked))
        self._features = self._read(_opened, answer).features

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
        asked: dict[str, Any] = {
            "request": number,
            "queues": queues,
            "slots": min(slots, wire.CLAIM_MOST),
            "wait_s": 0,
        }
        # A server of an earlier version refuses what it has not heard of.
        if "avoid" in self._features:
            asked["avoid"] = avoid
        if "spare" in self._features:
            asked["spare"] = min(spare, wire.CLAIM_MOST)
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
        return self._read(_got, answer)

    async def held(self, session_id: str) -> list[Claimed]:
        if (unsure := self._unsure.get(session_id)) is not None:
            # The claim whose answer was lost may still be at work at the server: its number is
            # repeated until that is over, or it would take what nobody hears of.
            await self._claim(session_id, unsure)
            self._unsure.pop(session_id, None)
        answer = await self._ask(session_id, "held", None, method="GET")
        return [wire.claimed(task) for task in self._read(_holds, answer).tasks]

    async def finish(self, session_id: str, reports: Sequence[Report]) -> list[bool]:
        applied: list[bool] = []
        for at in range(0, len(reports), wire.FINISH_MOST):
            items = [ended(report) for report in reports[at : at + wire.FINISH_MOST]]
            applied += await self._report(session_id, "finish", items)
        return applied

    async def note(self, session_id: str, notes: Sequence[Note]) -> list[bool]:
        kept: list[bool] = []
        for at in range(0, len(notes), wire.FINISH_MOST):
            items = [noted(note) for note in notes[at : at + wire.FINISH_MOST]]
            kept += await self._report(session_id, "progress", items)
        return kept

    async def _report(self, session_id: str, what: str, items: Sequence[Any]) -> list[bool]:
        body = wire.encode({"items": items})
        try:
            if len(body) > wire.REPORT_BYTES and len(items) > 1:
                raise TooLarge("more than a server takes at a time")
            answer = await self._ask(session_id, what, body)
        except SessionGone:
            return [False] * len(items)
        except TooLarge:
            if len(items) == 1:
                raise
            middle = len(items) // 2
            first = await self._report(session_id, what, items[:middle])
            return first + await self._report(session_id, what, items[middle:])
        said = self._read(_verdicts, answer).items
        if len(said) != len(items):
            raise StoreError(f"{self._address} answers strangely: not a verdict for each item")
        for one in said:
            if one.verdict == "invalid":
                raise StoreError(f"task {one.id}: {one.problem}")
        # What was carried out before under this very fence was a repeat after a lost answer.
        return [one.verdict in ("applied", "duplicate") for one in said]

    async def close_session(self, session_id: str) -> None:
        self.forget_session(session_id)
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
        self._unsure.pop(session_id, None)


class _FactsOut(Struct, frozen=True):
    value: Facts | None


def _as_it_is(name: str) -> Callable[..., Any]:
    async def ask(self: HttpBackend, *values: Any, **named: Any) -> Any:
        return await self.call(name, *values, **named)

    ask.__name__ = name
    return ask


for _name in ROLES:
    setattr(HttpBackend, _name, _as_it_is(_name))
