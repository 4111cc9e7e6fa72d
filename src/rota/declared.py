"""What a schedule says, checked as a whole, before it is known how far it has come (R6)."""

from collections.abc import Iterator, Mapping
from typing import Any, TypedDict

from msgspec import Struct, structs

from rota.clock import parse_id
from rota.config import PRIORITY_DEFAULT
from rota.errors import ConfigurationError, InvalidSchedule
from rota.options import DEFAULTS, Options, check_options
from rota.payload import encode
from rota.policy.retry import Backoff
from rota.registry import Kind, check_name, did_you_mean
from rota.schedule import Policy, Rule, Schedule, Work
from rota.schedule_options import (
    POLICY_NAMES,
    RULE_NAMES,
    PolicyOptions,
    RuleOptions,
    as_schedule,
    check_jitter,
    check_policy,
    check_rule,
)
from rota.times import Duration


class WorkOptions(TypedDict, total=False):
    """What the tasks of a schedule are like; what is not given is left to the kind's defaults.

    `expires_in` counts from the instant at which the task should start.
    """

    payload: Mapping[str, Any]
    queue: str
    tenant: str
    priority: int
    timeout: Duration | None
    retry: Backoff | None
    expires_in: Duration | None
    tags: list[str] | tuple[str, ...]
    headers: Mapping[str, str]
    concurrency_key: str | None
    max_concurrency: int


class ScheduleOptions(RuleOptions, PolicyOptions, WorkOptions, total=False):
    """What `@app.schedule(…)` and `app.schedules.create` take besides the expression."""

    name: str | None


class ScheduleChanges(RuleOptions, PolicyOptions, WorkOptions, total=False):
    """What `app.schedules.update` takes."""

    expression: str | None


class Declared(Struct, frozen=True, kw_only=True):
    """What a schedule says: its name, when, by which policy, and what it makes."""

    name: str
    rule: Rule
    policy: Policy
    work: Work


class Declarations:
    """The schedules that a program declares, by name."""

    def __init__(self) -> None:
        self._declared: dict[str, Declared] = {}

    def add(self, declared: Declared) -> None:
        """Take in a schedule; `ConfigurationError` if the program has one of its name."""
        if declared.name in self._declared:
            raise ConfigurationError(
                f"schedule {declared.name} is declared twice; give one of them name='…'"
            )
        self._declared[declared.name] = declared

    def __iter__(self) -> Iterator[Declared]:
        return iter(self._declared.values())

    def __len__(self) -> int:
        return len(self._declared)


_TASK = tuple(name for name in WorkOptions.__annotations__ if name != "payload")
_NAMES = (*RULE_NAMES, *POLICY_NAMES, "payload", *_TASK)
_NOT_RECURRING = {"run_at": None, "delay": 0, "key": None, "expires_at": None}


def check_schedule(
    kind: Kind | str, given: Mapping[str, Any], work: Work | None = None
) -> Declared:
    """Return what a new schedule of a kind says; `InvalidSchedule` names what is wrong with it.

    Of a kind that is known by its name alone nobody can check the payload. `work` is what a bound
    call says already.
    """
    said = {name: value for name, value in given.items() if name != "name"}
    name = given.get("name") or (kind if isinstance(kind, str) else kind.name)
    if work is None and said.get("payload") is None:
        said["payload"] = {}
    return _checked(as_schedule(lambda: _name(name)), kind, said, None, work)


def changed(schedule: Schedule, kind: Kind | str, given: Mapping[str, Any]) -> Declared:
    """Return what a schedule says with the given changes; the rest stays as it is."""
    old = Declared(
        name=schedule.name, rule=schedule.rule, policy=schedule.policy, work=schedule.work
    )
    return _checked(schedule.name, kind, given, old, schedule.work)


def _checked(
    name: str,
    kind: Kind | str,
    given: Mapping[str, Any],
    old: Declared | None,
    work: Work | None,
) -> Declared:
    for option in given:
        if option not in _NAMES:
            raise InvalidSchedule(option, f"is not an option{did_you_mean(option, _NAMES)}")

    def among(names: tuple[str, ...]) -> dict[str, Any]:
        return {option: value for option, value in given.items() if option in names}

    said = among(RULE_NAMES)
    declared = Declared(
        name=name,
        rule=old.rule if old and not said else check_rule(said, None if old is None else old.rule),
        policy=check_policy(among(POLICY_NAMES), None if old is None else old.policy),
        work=check_work(kind, among(("payload", *_TASK)), work),
    )
    check_jitter(declared.rule, declared.policy)
    return declared


def check_work(kind: Kind | str, given: Mapping[str, Any], base: Work | None = None) -> Work:
    """Return `base` with what is given; None takes an option back to the kind's default."""
    usual = _usual(kind)
    base = base or usual
    named = {name: value for name, value in given.items() if name in _TASK and value is not None}
    within = Options(concurrency_key=base.concurrency_key)
    options = as_schedule(lambda: check_options(named, within))
    values = {name: getattr(options, name) for name in named}
    values |= {name: getattr(usual, name) for name in _TASK if given.get(name, 0) is None}
    if given.get("payload") is not None:
        values["payload"] = as_schedule(lambda: _payload(kind, given["payload"]))
    return structs.replace(base, **values)


def work_of(kind: Kind, payload: str, options: Options = DEFAULTS) -> Work:
    """Return what a bound call says of a schedule's tasks; what happens once cannot recur."""
    for name, nothing in _NOT_RECURRING.items():
        if getattr(options, name) != nothing:
            raise InvalidSchedule(name, "belongs to one task and cannot be an option of a schedule")
    given = {name: getattr(options, name) for name in _TASK}
    usual = _usual(kind)
    said = {name: value for name, value in given.items() if value not in (None, "", ())}
    if options.concurrency_key is not None:
        said.setdefault("max_concurrency", 1)
    return structs.replace(usual, payload=payload, **said)


def _usual(kind: Kind | str) -> Work:
    if isinstance(kind, str):
        return Work(kind=kind, payload="{}", queue="default", priority=PRIORITY_DEFAULT)
    return Work(
        kind=kind.name,
        payload="{}",
        queue=kind.queue,
        priority=kind.priority,
        timeout=kind.timeout,
        concurrency_key=kind.concurrency_key,
        max_concurrency=kind.max_concurrency or 1,
    )


def _payload(kind: Kind | str, payload: object) -> str:
    if not isinstance(payload, Mapping):
        raise InvalidSchedule("payload", "must be an object with the handler's arguments")
    if isinstance(kind, str):
        return encode(dict(payload), "payload")
    return kind.arguments.encode((), payload)


def _name(name: object) -> str:
    known = check_name(name, "name")
    if parse_id(known) is not None:
        raise InvalidSchedule("name", f"{known!r} looks like the id of a schedule; take another")
    return known
