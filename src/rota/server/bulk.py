"""Changes of many tasks as a request asks for them: checked, counted, then done or begun (R5.3)."""

from typing import Annotated, Any
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType, structs

from rota.access import Role
from rota.actions import Action, Changes, Do, On
from rota.changes import check_changes
from rota.clock import Micros, parse_id
from rota.config import REASON_CHARS
from rota.dead_letters import check_discard_reason
from rota.engine.actions import RUN, counted
from rota.engine.deeds import USUAL, carry_out
from rota.errors import InvalidTask, MoreThanExpected
from rota.model import State, TaskFilter
from rota.options import check_reason
from rota.server import filters
from rota.server.problems import Problem
from rota.server.route import Call, In
from rota.times import duration, rate

SAMPLE = 10
COUNT_MOST = 10_000
"""What matches is counted no further, unless the caller expects more."""
EXPECT_MOST = 10_000_000
INLINE = RUN
"""So many are changed before the answer; more are left to the nodes."""

Ids = Annotated[list[Annotated[str, Meta(max_length=64)]], Meta(min_length=1, max_length=INLINE)]


class ActionBody(In, frozen=True):
    """What to do, to what, and on which terms.

    `filter` or `ids`; everything is spelled {"all": true}. `set` goes with amend, `deadline` with
    cancel: by then a handler that does not stop loses its task. `rate` is how many a second.
    """

    do: Do
    on: On = On.TASKS
    filter: filters.TaskWhere | UnsetType = UNSET
    ids: Ids | UnsetType = UNSET
    set: dict[str, Any] | UnsetType = UNSET
    deadline: float | str | UnsetType | None = UNSET
    rate: float | str | UnsetType | None = UNSET
    reason: Annotated[str, Meta(max_length=REASON_CHARS)] | UnsetType | None = UNSET
    dry_run: bool = False
    expect_at_most: Annotated[int, Meta(ge=0, le=EXPECT_MOST)] | UnsetType | None = UNSET


def read(call: Call, given: ActionBody) -> Action:
    """Return the action that a body asks for; an error names what does not fit."""
    place, caller = call.place, call.caller
    usual = USUAL.get((given.do, given.on))
    if usual is None:
        able = ", ".join(do for do, on in USUAL if on is given.on)
        raise InvalidTask("do", f"{given.do} cannot be done to {given.on}; {able} can")
    if given.do is Do.DELETE and not caller.may(frozenset({Role.ADMIN})):
        raise Problem("forbidden", "to delete takes a key with the role admin")
    now = place.clock.now()
    asked, where = _where(given, usual)
    reason = None if given.reason is UNSET else check_reason(given.reason)
    return Action(
        id=place.ids.new(now),
        do=given.do,
        on=given.on,
        where=where,
        asked=asked,
        tenant=caller.scope.tenant,
        queues=caller.scope.queues,
        set=_set(given),
        deadline=_deadline(given),
        rate=None if given.rate in (UNSET, None) else rate(given.rate, "rate"),
        reason=check_discard_reason(reason) if given.do is Do.DISCARD else reason,
        created_at=now,
        created_by=caller.key_id,
        next_at=now,
    )


async def prepared(call: Call, action: Action, given: ActionBody) -> tuple[Action, list[str]]:
    """Return the action with what it will meet, and the ids of the first `INLINE` of them.

    `MoreThanExpected` if there are more than the caller has seen; then nothing is changed.
    """
    expected = None if given.expect_at_most is UNSET else given.expect_at_most
    if given.ids is not UNSET:
        known = dict.fromkeys(filter(None, map(parse_id, given.ids)))
        ids = list(known)
        if expected is not None and len(ids) > expected:
            raise MoreThanExpected(expected)
        return structs.replace(action, matched=len(ids), sample=tuple(ids[:SAMPLE])), ids
    where = action.where  # the backend narrows it, and refuses it if it names another tenant
    cap = max(COUNT_MOST, 0 if expected is None else expected + 1)
    counts = await call.backend.count(where, cap)
    matched = sum(counts.values())
    if expected is not None and matched > expected:
        raise MoreThanExpected(expected)
    ids = await call.backend.find_ids(where, before_id=None, limit=INLINE + 1)
    capped = any(number >= cap for number in counts.values())
    met = structs.replace(action, matched=matched, capped=capped, sample=tuple(ids[:SAMPLE]))
    # It goes down from the newest that there is now: what is made later is newer, and left alone.
    return structs.replace(met, after=_above(ids[0]) if ids else None), ids


async def done_at_once(call: Call, action: Action, ids: list[str]) -> Action:
    """Return the action when it has been done to these tasks."""
    words = await carry_out(call.backend, action, ids)
    return counted(action, words)


def _where(given: ActionBody, usual: tuple[State, ...]) -> tuple[dict[str, Any], TaskFilter]:
    """Return the filter as it was asked for, and as it is meant."""
    if given.ids is not UNSET:
        if given.filter is not UNSET:
            raise InvalidTask("filter", "and ids exclude each other; give one of them")
        return {}, TaskFilter(states=usual)
    if given.filter is UNSET:
        raise InvalidTask("filter", 'is missing; give a filter, ids, or {"all": true}')
    asked = filters.asked(given.filter)
    everything = asked.get("all", False)
    narrowed = {name for name in asked if name not in ("all", "discarded")}
    if everything and narrowed:
        raise InvalidTask("filter.all", "and other filters exclude each other; give one")
    if not everything and not narrowed:
        raise InvalidTask("filter", 'is empty; for everything say so: {"all": true}')
    where = filters.of_body(given.filter)
    if given.on is On.DEAD_LETTERS:
        if where.states:
            raise InvalidTask("filter.state", "is failed already: that is what dead letters are")
        discarded = given.do is Do.RESTORE or where.discarded
        return asked, filters.failed(where, discarded=discarded)
    return asked, where if where.states else structs.replace(where, states=usual)


def _above(task_id: str) -> str:
    return str(UUID(int=UUID(task_id).int + 1))


def _set(given: ActionBody) -> Changes:
    if given.do is Do.AMEND:
        return check_changes({} if given.set is UNSET else given.set)
    if given.set is not UNSET:
        raise InvalidTask("set", "goes with amend alone")
    return Changes()


def _deadline(given: ActionBody) -> Micros | None:
    if given.deadline in (UNSET, None):
        return None
    if given.do is not Do.CANCEL:
        raise InvalidTask("deadline", "goes with cancel alone")
    return duration(given.deadline, "deadline")
