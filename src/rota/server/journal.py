"""The audit record as a server keeps it: an entry for each change, sums for what is frequent (S17).

Submits, claims, finishes and heartbeats are summed by key, route and minute and written together: a
row for each would cost as much as the work itself. So is what was refused, for want of a role from
the first, else from the hundredth on: who may do nothing shall not fill the store either (S8). What
could not be written waits for the next time; at most `WAITING_MOST` entries do.

Of a change that is `announced` there is an entry before it is made as well. Once there is the one
of its end, that is left out by whoever reads; until then, and for good if this process is killed,
it says that the change was begun (ADR 27).
"""

import logging
from collections import Counter, deque
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, structs

from rota.access import BEGUN_MARK, AuditEntry, Outcome
from rota.clock import Clock, Ids
from rota.config import MINUTE, REASON_CHARS
from rota.engine import Engine
from rota.errors import RotaError
from rota.problems import meaning
from rota.server.caller import Caller
from rota.server.problems import Problem
from rota.server.route import Answer, Call, Route

log = logging.getLogger("rota.server")

WAITING_MOST: Final = 10_000
SUMS_MOST: Final = 10_000
REFUSED_MOST: Final = 100
"""So many refusals a minute of one key, or of one address without a key, have their own entry."""
TEXT_MOST: Final = 1_000
SHOWN: Final = frozenset(
    {"name", "queue", "tenant", "kind", "do", "on", "when_full", "fair_by", "missed", "overlap"}
)
"""The fields of a body whose texts say what was changed; of others only numbers are recorded."""
BATCH: Final = 500


class _Sum(Struct):
    caller: Caller
    count: int = 0
    address: str = ""


class Journal:
    """Takes down what was changed; belongs to one server process."""

    def __init__(self, engine: Engine, ids: Ids) -> None:
        self._engine = engine
        self._ids = ids
        self._sums: dict[tuple[int, str, str, Outcome, str], _Sum] = {}
        self._waiting: deque[AuditEntry] = deque(maxlen=WAITING_MOST)
        self._refused: Counter[str] = Counter()
        self._refused_in = 0

    @property
    def _clock(self) -> Clock:
        return self._engine.clock

    def add(self, call: Call, address: str, error: Exception | None) -> None:
        """Count a call of a route that is summed."""
        many = call.audit.get("count", 1)
        self._count(call.route, call.caller, address, outcome_of(error), many)

    def deny(self, route: Route, caller: Caller, address: str) -> None:
        """Count a change that was refused for want of a role, before its body was read."""
        self._count(route, caller, address, Outcome.REFUSED, 1)

    def _count(
        self, route: Route, caller: Caller, address: str, outcome: Outcome, many: int
    ) -> None:
        minute = self._clock.now() // MINUTE
        key = (minute, caller.key_id or address, route.audit or "", outcome, caller.via)
        found = self._sums.get(key)
        if found is None:
            if len(self._sums) >= SUMS_MOST:
                self._close(minute + 1)
            found = self._sums[key] = _Sum(caller, address=address)
        found.count += many

    async def write(
        self, call: Call, address: str, answer: Answer | None, error: Exception | None
    ) -> None:
        """Write an entry for one call; the change itself stands, whether that succeeds or not."""
        if error is not None and not call.route.announced and self._too_often(call, address):
            self.add(call, address, error)
            return
        self._waiting.append(self._entry(call, address, answer, outcome_of(error)))
        await self.flush(all_=False, sums=False)

    async def begin(self, call: Call, address: str) -> None:
        """Write that a change begins; whether that succeeds or not, it is made."""
        entry = self._entry(call, address, None, Outcome.BEGUN)
        call.audit["entry"] = entry.id
        begun = structs.replace(entry, id=f"{entry.id}{BEGUN_MARK}")
        try:
            await self._engine.record([begun])
        except RotaError as error:
            log.warning("%s begins without its entry in the audit record: %s", entry.action, error)

    def _too_often(self, call: Call, address: str) -> bool:
        """Count what was refused, or went wrong; say whether that is summed from now on."""
        minute = self._clock.now() // MINUTE
        if minute != self._refused_in:
            self._refused.clear()
            self._refused_in = minute
        who = call.caller.key_id or address
        if who not in self._refused and len(self._refused) >= SUMS_MOST:
            return True
        self._refused[who] += 1
        return self._refused[who] > REFUSED_MOST

    async def flush(self, *, all_: bool, sums: bool = True) -> None:
        """Write what waits, with the sums of the minutes that are over, or `all_` of them."""
        if sums:
            self._close(self._clock.now() // MINUTE + all_)
        while self._waiting:
            some = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
            try:
                await self._engine.record(some)
            except RotaError as error:
                self._waiting.extendleft(reversed(some))
                log.warning("%d entries of the audit record wait: %s", len(self._waiting), error)
                return
            except BaseException:
                self._waiting.extendleft(reversed(some))
                raise

    def _close(self, before: int) -> None:
        for key in [key for key in self._sums if key[0] < before]:
            minute, _, action, outcome, _ = key
            one = self._sums.pop(key)
            self._waiting.append(
                self._from(
                    one.caller,
                    at=minute * MINUTE,
                    action=action,
                    address=one.address,
                    outcome=outcome,
                    count=one.count,
                )
            )

    def _entry(
        self, call: Call, address: str, answer: Answer | None, outcome: Outcome
    ) -> AuditEntry:
        given = call.audit
        reason = given.get("reason") or getattr(call.body, "reason", None)
        return self._from(
            given.get("caller", call.caller),
            id_=given.get("entry"),
            at=self._clock.now(),
            action=call.route.audit or "",
            target=_cut(given.get("target") or target_of(call, answer)),
            request_id=call.request_id,
            address=address,
            outcome=outcome,
            count=given.get("count", 1),
            change=_cut(change_of(call)),
            reason=reason[:REASON_CHARS] if isinstance(reason, str) else None,
        )

    def _from(self, caller: Caller, *, id_: str | None = None, **fields: Any) -> AuditEntry:
        return AuditEntry(
            id=id_ or self._ids.new(self._clock.now()),
            key_id=caller.key_id,
            key_name=caller.name,
            via=caller.via,
            tenant=caller.scope.tenant,
            **fields,
        )


def outcome_of(error: Exception | None) -> Outcome:
    """Return what became of a call: done, refused for a reason of its own, or gone wrong."""
    if error is None:
        return Outcome.OK
    meant = error.meaning if isinstance(error, Problem) else meaning(error)
    return Outcome.FAILED if meant.status >= 500 else Outcome.REFUSED


def target_of(call: Call, answer: Answer | None) -> str | None:
    """Return what a call was about: what its path names, what it made, or a filter as JSON."""
    if call.path:
        return "/".join(call.path.values())
    value = None if answer is None else answer.value
    if isinstance(value, Mapping):
        made = value.get("id") or value.get("name")
        if isinstance(made, str):
            return made
    where = getattr(call.body, "filter", None)
    return None if where is None or where is UNSET else _json(where)


def change_of(call: Call) -> str | None:
    """Return as JSON what was changed: as the route tells it, or the plain fields of the body.

    Never payloads or secrets (S17): of what the route does not tell, texts are left out unless
    they are names.
    """
    told = call.audit.get("change")
    if told is None and isinstance(call.body, Struct):
        told = {
            name: value
            for name, value in structs.asdict(call.body).items()
            if name != "reason"  # it has its own place
            and (
                isinstance(value, bool | int | float)
                or value is None
                or (name in SHOWN and isinstance(value, str))
            )
        }
    return _json(told) if told else None


def _json(value: Any) -> str:
    """Return a value as JSON; what has no form there is told as text, never a reason to fail."""
    return msgspec.json.encode(value, enc_hook=str).decode()


def _cut(text: str | None) -> str | None:
    """Return a text that fits, or JSON that says that it did not."""
    if text is None or len(text) <= TEXT_MOST:
        return text
    return _json({"cut": text[:TEXT_MOST]})
