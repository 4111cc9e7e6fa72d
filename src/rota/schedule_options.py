"""When a schedule has slots and what becomes of them: read, checked, named in errors (R6)."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice, pairwise
from typing import Any, Literal, TypedDict, TypeVar

from msgspec import structs

from rota.checks import flag, one_of, optional, whole
from rota.clock import Micros
from rota.config import CATCH_UP_MOST, PENDING_MOST, SECOND
from rota.errors import InvalidSchedule, InvalidTask
from rota.policy.calendar import Calendar
from rota.registry import did_you_mean
from rota.schedule import Fold, Gap, Missed, Overlap, Policy, Rule
from rota.times import Duration, Instant, duration, moment, show_duration
from rota.zones import check_zone, zone

T = TypeVar("T")


class RuleOptions(TypedDict, total=False):
    """When a schedule has slots, besides its expression; see `rota.schedule.Rule`.

    An interval without an `anchor` counts from `starts_at`, or else from 1970.
    """

    every: Duration | None
    anchor: Instant | None
    tz: str
    seconds: bool
    both_days: bool
    gap: Gap | Literal["run_after", "skip"]
    fold: Fold | Literal["first", "second", "both"]
    starts_at: Instant | None
    ends_at: Instant | None


class PolicyOptions(TypedDict, total=False):
    """What becomes of slots that are late or in each other's way; see `rota.schedule.Policy`.

    `overlap` is one of skip, coalesce, queue(n), cancel_previous and allow; with
    `missed="run_all"` it is queue(max_catchup) unless it is given, or nothing could be caught up.
    """

    missed: Missed | Literal["run_once", "run_all", "skip"]
    grace: Duration
    max_catchup: int
    max_age: Duration
    overlap: Overlap | str
    max_pending: int
    jitter: Duration
    max_runs: int | None


RULE_NAMES = ("expression", *RuleOptions.__annotations__)
POLICY_NAMES = tuple(PolicyOptions.__annotations__)

_SHORTEST = SECOND
_ONLY_EXPRESSION = ("seconds", "both_days", "gap", "fold")
_SAMPLE_FROM: Micros = 1_767_225_600 * SECOND
"""2026-01-01: distances between slots are looked at from here on, the same on every machine."""
_SAMPLE = 12
_QUEUE = re.compile(r"queue\s*\(\s*(\d{1,9})\s*\)")


def check_rule(given: Mapping[str, Any], base: Rule | None = None) -> Rule:
    """Return `base` with what is given; `InvalidSchedule` names what is wrong, or never fires.

    Whoever gives an expression takes an interval away, and the other way round.

    >>> check_rule({"every": "90s"}).every
    90000000
    """
    values = _each(given, _RULE)
    known = {} if base is None else structs.asdict(base)
    one, other = given.get("expression"), given.get("every")
    if one is not None and other is not None:
        raise InvalidSchedule("every", "and an expression exclude each other; give one of them")
    if one is not None:
        known |= {"every": None, "anchor": 0}
    elif other is not None:
        usual = structs.asdict(Rule())
        known |= {"expression": None} | {name: usual[name] for name in _ONLY_EXPRESSION}
        known |= {} if base is None or base.every else {"anchor": base.starts_at or 0}
    follows = base is None or known.get("anchor", 0) == (base.starts_at or 0)
    rule = Rule(**known | values)
    if rule.every is not None and "anchor" not in values and follows:
        rule = structs.replace(rule, anchor=rule.starts_at or 0)
    _consistent(rule, given)
    return rule


def _consistent(rule: Rule, given: Mapping[str, Any]) -> None:
    if rule.expression is None and rule.every is None:
        raise InvalidSchedule("expression", 'is missing; give one, or every="90s"')
    if rule.every is not None:
        for name in _ONLY_EXPRESSION:
            if given.get(name):
                raise InvalidSchedule(name, "goes with an expression; an interval is real time")
    elif rule.anchor:
        raise InvalidSchedule("anchor", "goes with every=; an expression needs none")
    calendar = Calendar(rule, zone(rule.tz))
    if rule.ends_at is not None:
        if rule.starts_at is not None and rule.ends_at <= rule.starts_at:
            raise InvalidSchedule("ends_at", "must lie after starts_at")
        if next(calendar.after(-1), None) is None:
            raise InvalidSchedule("ends_at", "leaves no slot: it would never run")


def check_policy(given: Mapping[str, Any], base: Policy | None = None) -> Policy:
    """Return `base` with what is given; `InvalidSchedule` names what is wrong.

    >>> check_policy({"overlap": "queue(5)"}).max_pending
    5
    """
    values = _each(given, _POLICY)
    overlap = values.get("overlap")
    if overlap is not None:
        values["overlap"], bound = overlap
        if bound is not None and values.setdefault("max_pending", bound) != bound:
            raise InvalidSchedule("max_pending", "is given twice; overlap says it already")
    policy = Policy(**({} if base is None else structs.asdict(base)) | values)
    if base is None and policy.missed is Missed.RUN_ALL and overlap is None:
        most = values.get("max_pending", policy.max_catchup)
        policy = structs.replace(policy, overlap=Overlap.QUEUE, max_pending=most)
    if "max_pending" in values and policy.overlap is not Overlap.QUEUE:
        raise InvalidSchedule("max_pending", 'goes with overlap="queue"')
    was_queue = base is not None and base.overlap is Overlap.QUEUE
    if overlap == (Overlap.QUEUE, None) and "max_pending" not in values and not was_queue:
        raise InvalidSchedule("overlap", 'must say how many may wait, for instance "queue(5)"')
    return policy


def check_jitter(rule: Rule, policy: Policy) -> None:
    """Refuse a jitter that can carry a run beyond the slot that follows (R6.7)."""
    if not policy.jitter:
        return
    if rule.every is not None:
        shortest = rule.every
    else:
        begin = (rule.starts_at or _SAMPLE_FROM) - 1
        slots = [slot.at for slot in islice(Calendar(rule, zone(rule.tz)).after(begin), _SAMPLE)]
        shortest = min((b - a for a, b in pairwise(slots)), default=policy.jitter + 1)
    if policy.jitter >= shortest:
        raise InvalidSchedule(
            "jitter", f"must be shorter than the time between two slots, {show_duration(shortest)}"
        )


def _each(given: Mapping[str, Any], checks: Mapping[str, Any]) -> dict[str, Any]:
    values = {}
    for name, value in given.items():
        if name not in checks:
            raise InvalidSchedule(name, f"is not an option{did_you_mean(name, checks)}")
        values[name] = as_schedule(partial(checks[name], value, name))
    return values


def as_schedule(check: Callable[[], T]) -> T:
    """Return what a check returns; whatever it refuses, it refuses a schedule."""
    try:
        return check()
    except InvalidSchedule:
        raise
    except InvalidTask as error:
        raise InvalidSchedule(error.field, error.problem) from None


# -- single values ------------------------------------------------------------------------------


def _text(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise InvalidSchedule(field, f"must be text, not {value!r:.80}")
    return value


def _length(value: object, field: str) -> Micros:
    length = duration(value, field)
    if length < _SHORTEST:
        raise InvalidSchedule(field, f"must be at least 1 second, not {value!r}")
    return length


def _overlap(value: object, field: str) -> tuple[Overlap, int | None]:
    queue = _QUEUE.fullmatch(value.strip()) if isinstance(value, str) else None
    if queue is None:
        return one_of(Overlap)(value, field), None
    return Overlap.QUEUE, whole(1, PENDING_MOST)(int(queue[1]), field)


_RULE: dict[str, Any] = {
    "expression": optional(_text),
    "every": optional(_length),
    "anchor": lambda value, field: 0 if value is None else moment(value, field),
    "tz": check_zone,
    "seconds": flag,
    "both_days": flag,
    "gap": one_of(Gap),
    "fold": one_of(Fold),
    "starts_at": optional(moment),
    "ends_at": optional(moment),
}
_POLICY: dict[str, Any] = {
    "missed": one_of(Missed),
    "grace": _length,
    "max_catchup": whole(1, CATCH_UP_MOST),
    "max_age": _length,
    "overlap": _overlap,
    "max_pending": whole(1, PENDING_MOST),
    "jitter": duration,
    "max_runs": optional(whole(1, 1_000_000_000)),
}
