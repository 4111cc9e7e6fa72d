"""What comes over the wire as values of the seam, checked: the Python client is trusted no more
than anybody else (S8, R1.6).
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Struct, structs

from rota import config
from rota.access import Key
from rota.actions import Changes
from rota.alert_options import check_fits, check_rule, check_url
from rota.alerting import AlertRule, Webhook
from rota.clock import Micros, parse_id
from rota.errors import ConfigurationError, InvalidTask, RotaError
from rota.model import NewTask, rank_of
from rota.options import (
    check_concurrency,
    check_gate,
    check_key,
    check_priority,
    check_reason,
    check_tenant,
)
from rota.payload import encode
from rota.policy.retry import Backoff
from rota.registry import check_name
from rota.schedule import Run, Schedule, Work
from rota.server.known_kinds import RESERVED
from rota.share_options import check_scope
from rota.shares import Limit, QueueSettings, TenantSettings
from rota.slot_task import calendar_of

ITEMS_MOST = 10_000
COUNT_MOST = 1_000_000
NUMBER_MOST = 2**63 - 1
DATED_WITHIN: Micros = config.DAY
"""A task is dated by the server's own time; a client whose clock differs by more is not asked."""
LAST_DAY: Micros = 253_402_300_799 * config.SECOND


def check_values(name: str, values: Iterable[Any], named: Mapping[str, Any], now: Micros) -> None:
    """Refuse what no store can keep, what is too much, and what the verb itself does not allow."""
    everything = [*values, *named.values()]
    for value in everything:
        if isinstance(value, list | tuple) and len(value) > ITEMS_MOST:
            raise InvalidTask(name, f"has {len(value):,} items; at most {ITEMS_MOST:,} are taken")
    for bound in ("limit", "cap", "most"):
        number = named.get(bound)
        if isinstance(number, int) and not 0 <= number <= COUNT_MOST:
            raise InvalidTask(bound, f"must be a whole number up to {COUNT_MOST:,}")
    check = _CHECKS.get(name)
    if check is not None:
        check(everything, now)
    if name not in _SEEN_TO:
        _walk(msgspec.to_builtins(everything, builtin_types=(bytes,)), name)


def _walk(value: Any, field: str) -> None:
    """Refuse numbers and texts that no store can keep, wherever they are."""
    if isinstance(value, str):
        if "\0" in value or not _is_unicode(value):
            raise InvalidTask(field, "has a NUL character or half a character")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidTask(field, "is not a finite number")
    elif isinstance(value, int):
        if abs(value) > NUMBER_MOST:
            raise InvalidTask(field, "is a number that is too large")
    else:
        for key, item in _inside(value):
            _walk(key, field)
            _walk(item, f"{field}.{key}")


def _inside(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list | tuple) else ()


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _tasks(values: list[Any], now: Micros) -> None:
    for index, task in enumerate(values[0]):
        with _At(f"tasks[{index}]"):
            _new_task(task, now)
            if task.schedule is not None or task.slot is not None:
                raise InvalidTask("schedule", "makes its tasks itself")


def _new_task(task: NewTask, now: Micros) -> None:
    if parse_id(task.id) != task.id:
        raise InvalidTask("id", "is no id of a task")
    _kind(task.kind)
    check_name(task.queue, "queue")
    check_tenant(task.tenant)
    check_priority(task.priority)
    _json_text(task.payload, "payload", dict, config.PAYLOAD_BYTES)
    _instant(task.run_at, "run_at")
    if abs(task.created_at - now) > DATED_WITHIN:
        raise InvalidTask("created_at", "is not now; is the clock of the client right?")
    if task.rank != rank_of(task.run_at, task.priority):
        raise InvalidTask("rank", "does not follow from run_at and priority")
    if task.timeout is not None:
        _length(task.timeout, "timeout")
    _retry(task.retry)
    if task.expires_at is not None:
        _instant(task.expires_at, "expires_at")
    if task.key is not None:
        check_key(task.key, "key")
        _instant(task.key_until or 0, "key_until")
    _tags(task.tags)
    _headers(task.headers)
    check_gate(task.concurrency_key, task.max_concurrency)
    if task.concurrency_key is not None:
        check_key(task.concurrency_key, "concurrency_key")
        check_concurrency(task.max_concurrency, "max_concurrency")


def _kind(name: str) -> None:
    check_name(name, "kind")
    if name.startswith(RESERVED):
        raise InvalidTask("kind", f"kinds that begin with {RESERVED} are the server's own")


def _json_text(text: str, field: str, kind: type, most: int) -> Any:
    """Return the value of JSON text, which must be of a kind and such that it can be stored."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        raise InvalidTask(field, "is not JSON") from None
    if not isinstance(value, kind):
        raise InvalidTask(field, "is JSON of another kind than is needed")
    if len(text) > 2 * most:
        raise InvalidTask(field, f"is longer than {most:,} bytes")
    encode(value, field, most=most)
    return value


def _instant(at: Micros, field: str) -> None:
    if not 0 <= at <= LAST_DAY:
        raise InvalidTask(field, "is no instant between 1970 and 9999")


def _length(length: Micros, field: str) -> None:
    if not 0 < length <= config.LONGEST_DELAY:
        raise InvalidTask(field, "must be more than 0 and at most ten years")


def _retry(text: str | None) -> None:
    if text is not None:
        try:
            Backoff.from_json(text)
        except ConfigurationError as error:
            raise InvalidTask("retry", str(error)) from None


def _tags(tags: tuple[str, ...]) -> None:
    if len(tags) > config.TAGS:
        raise InvalidTask("tags", f"are more than {config.TAGS}")
    for index, tag in enumerate(tags):
        if not 0 < len(tag) <= config.TAG_CHARS:
            raise InvalidTask(f"tags[{index}]", f"must have 1 to {config.TAG_CHARS} characters")
        encode(tag, f"tags[{index}]")


def _headers(text: str | None) -> None:
    if text is None:
        return
    found = _json_text(text, "headers", dict, config.HEADERS_BYTES)
    if len(found) > config.HEADERS + 4:  # and those that Rota adds itself
        raise InvalidTask("headers", f"are more than {config.HEADERS}")
    for name, value in found.items():
        if not isinstance(value, str):
            raise InvalidTask(f"headers.{name}", "must be text")


def _schedule(values: list[Any], _now: Micros) -> None:
    schedule: Schedule = values[0]
    if parse_id(schedule.id) != schedule.id:
        raise InvalidTask("id", "is no id of a schedule")
    check_name(schedule.name, "name")
    try:
        calendar_of(schedule.rule)
    except RotaError as error:
        if isinstance(error, InvalidTask):
            raise
        raise InvalidTask("rule", str(error)) from None
    policy = schedule.policy
    bounds = (
        ("max_catchup", policy.max_catchup, config.CATCH_UP_MOST),
        ("max_pending", policy.max_pending, config.PENDING_MOST),
        ("jitter", policy.jitter, config.LONGEST_DELAY),
        ("grace", policy.grace, config.LONGEST_DELAY),
        ("max_age", policy.max_age, config.LONGEST_DELAY),
    )
    for field, number, most in bounds:
        if not 0 <= number <= most:
            raise InvalidTask(field, f"must lie between 0 and {most:,}")
    for field in ("created_at", "updated_at"):
        _instant(getattr(schedule, field), field)
    _work(schedule.work)


def _work(work: Work) -> None:
    _kind(work.kind)
    check_name(work.queue, "queue")
    check_tenant(work.tenant)
    check_priority(work.priority)
    _json_text(work.payload, "payload", dict, config.PAYLOAD_BYTES)
    for field in ("timeout", "expires_in"):
        if (length := getattr(work, field)) is not None:
            _length(length, field)
    _retry(work.retry)
    _tags(work.tags)
    _headers(work.headers)
    if work.concurrency_key is not None:
        check_key(work.concurrency_key, "concurrency_key")
    check_concurrency(work.max_concurrency, "max_concurrency")


def _runs(values: list[Any], now: Micros) -> None:
    runs: list[Run] = values[1]
    for index, run in enumerate(runs):
        with _At(f"runs[{index}]"):
            _instant(run.slot, "slot")
            task = run.task
            if task.schedule is not None and parse_id(task.schedule) != task.schedule:
                raise InvalidTask("schedule", "is no id of a schedule")
            _new_task(task, now)


def _payload(values: list[Any], _now: Micros) -> None:
    _json_text(values[1], "payload", dict, config.PAYLOAD_BYTES)


def _reason(values: list[Any], _now: Micros) -> None:
    check_reason(values[1])


def _settings(values: list[Any], _now: Micros) -> None:
    new = values[0]
    if isinstance(new, TenantSettings):
        check_tenant(new.name, "name")
    else:
        check_name(new.name, "name")
    check_reason(new.pause_reason)
    if isinstance(new, QueueSettings):
        for name in new.weights.__struct_fields__:
            _within(getattr(new.weights, name), f"weights.{name}", 1, config.WEIGHT_MOST)
        _within(new.aging, "aging", 1, config.LONGEST_DELAY)
    if isinstance(new, TenantSettings):
        _within(new.weight, "weight", 1, config.WEIGHT_MOST)
    if not isinstance(new, QueueSettings | TenantSettings):
        return
    if new.max_depth is not None:
        _within(new.max_depth, "max_depth", 1, config.DEPTH_MOST)


def _limit(values: list[Any], _now: Micros) -> None:
    limit: Limit = values[0]
    if parse_id(limit.id) != limit.id:
        raise InvalidTask("id", "is no id of a limit")
    check_scope(limit.queue, limit.tenant)
    if limit.max_running is not None:
        _within(limit.max_running, "max_running", 0, COUNT_MOST)
    if limit.rate is not None:
        _within(limit.rate, "rate", config.RATE_LEAST, config.RATE_MOST)
    if limit.burst is not None:
        _within(limit.burst, "burst", 1, config.BURST_MOST)


def _changes(values: list[Any], _now: Micros) -> None:
    changes: Changes = values[1]
    if changes.priority is not UNSET:
        check_priority(changes.priority)
    if changes.queue is not UNSET:
        check_name(changes.queue, "queue")
    if changes.run_at is not UNSET:
        _instant(changes.run_at, "run_at")
    if isinstance(changes.timeout, int):
        _length(changes.timeout, "timeout")
    if changes.tags is not UNSET:
        _tags(changes.tags)


def _rule(values: list[Any], _now: Micros) -> None:
    rule: AlertRule = values[0]
    given = structs.asdict(rule)
    check_name(rule.name, "name")
    check_rule({name: given[name] for name in ("figure", "threshold", "queue", "clear")})
    check_fits(rule.figure, rule.threshold)
    _within(rule.hold, "hold", 0, config.LONGEST_DELAY)


def _webhook(values: list[Any], _now: Micros) -> None:
    webhook: Webhook = values[0]
    if parse_id(webhook.id) != webhook.id:
        raise InvalidTask("id", "is no id of a webhook")
    check_url(webhook.url)


def _key(values: list[Any], _now: Micros) -> None:
    key: Key = values[0]
    check_name(key.name, "name")
    if not key.roles:
        raise InvalidTask("roles", "must be one at least")
    if key.scope.tenant is not None:
        check_tenant(key.scope.tenant)


def _within(value: float, field: str, least: float, most: float) -> None:
    if not least <= value <= most:
        raise InvalidTask(field, f"must lie between {least:g} and {most:,}")


class _At:
    """Names the place of what is refused inside."""

    def __init__(self, place: str) -> None:
        self._place = place

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, InvalidTask):
            raise InvalidTask(f"{self._place}.{error.field}", error.problem) from None


_CHECKS: dict[str, Callable[[list[Any], Micros], None]] = {
    "submit": _tasks,
    "add_key": _key,
    "amend": _changes,
    "put_alert_rule": _rule,
    "put_webhook": _webhook,
    "fire_extra": _runs,
    "create_schedule": _schedule,
    "change_schedule": _schedule,
    "edit_payload": _payload,
    "discard": _reason,
    "put_settings": _settings,
    "put_limit": _limit,
}
_SEEN_TO = frozenset({"submit"})
"""Looked through field by field already, and many."""


def only_pauses(old: Any, new: Any) -> bool:
    """Say whether a change of settings pauses or resumes and does nothing else."""
    if type(old) is not type(new) or not isinstance(new, Struct):
        return False
    same: dict[str, Any] = {"paused_at": None, "pause_reason": None, "version": 0}
    return bool(structs.replace(old, **same) == structs.replace(new, **same))
