"""How one task differs from the defaults of its kind: read, checked and named in errors (R1.1)."""

from collections.abc import Mapping
from typing import Any, TypedDict

from msgspec import Struct

from rota import config
from rota.clock import Micros
from rota.errors import ConfigurationError, InvalidTask, UnknownOption
from rota.payload import encode
from rota.policy.retry import Backoff
from rota.registry import check_name, did_you_mean
from rota.times import Duration, Instant, duration, moment


class TaskOptions(TypedDict, total=False):
    """What `using(…)` takes.

    `run_at` and `delay` exclude each other, and so do `expires_at` and `expires_in`. Of the tasks
    with one `concurrency_key` at most `max_concurrency` are handed out at once (R7.4). `connection`
    is one of the caller's own: what is submitted belongs to its transaction (R1.3).
    """

    queue: str
    tenant: str
    priority: int
    run_at: Instant
    delay: Duration
    timeout: Duration | None
    retry: Backoff
    key: str
    key_window: Duration
    expires_at: Instant
    expires_in: Duration
    tags: list[str] | tuple[str, ...]
    headers: Mapping[str, str]
    concurrency_key: str
    max_concurrency: int
    connection: Any


class Options(Struct, frozen=True):
    """Checked options; what is None is left to the kind's defaults."""

    queue: str | None = None
    tenant: str = ""
    priority: int | None = None
    run_at: Micros | None = None
    delay: Micros = 0
    timeout: Micros | None = None
    retry: str | None = None
    key: str | None = None
    key_window: Micros = config.KEY_WINDOW
    expires_at: Micros | None = None
    expires_in: Micros | None = None
    tags: tuple[str, ...] = ()
    headers: str | None = None
    concurrency_key: str | None = None
    max_concurrency: int | None = None


DEFAULTS = Options()


def check_options(given: Mapping[str, Any], base: Options = DEFAULTS) -> Options:
    """Return `base` with the given options; `InvalidTask` names the one that is wrong."""
    checked = {name: getattr(base, name) for name in Options.__struct_fields__}
    for name, value in given.items():
        check = _CHECKS.get(name)
        if check is None:
            raise UnknownOption(name, f"is not an option{did_you_mean(name, _CHECKS)}")
        checked[name] = check(value, name)
    for one, other in (("run_at", "delay"), ("expires_at", "expires_in")):
        if one in given and other in given:
            raise InvalidTask(one, f"and {other} exclude each other; give one of them")
        if one in given:
            checked[other] = 0 if other == "delay" else None
        elif other in given:
            checked[one] = None
    check_gate(checked["concurrency_key"], checked["max_concurrency"])
    return Options(**checked)


def check_gate(key: str | None, most: int | None) -> None:
    """Refuse a room without a gate: it would bound nothing."""
    if key is None and most is not None:
        raise InvalidTask("max_concurrency", "needs a concurrency_key: who shares the room")


def check_concurrency(value: object, field: str) -> int:
    """Return how many tasks may share a key at once."""
    if type(value) is not int or not 1 <= value <= config.CONCURRENCY_MOST:
        raise InvalidTask(
            field, f"must be a whole number from 1 to {config.CONCURRENCY_MOST:,}, not {value!r}"
        )
    return value


def check_priority(value: object, field: str = "priority") -> int:
    """Return a priority, 0 (first) to 10 (last)."""
    if type(value) is not int or not 0 <= value <= config.PRIORITY_LOWEST:
        raise InvalidTask(field, f"must be a whole number from 0 (highest) to 10, not {value!r}")
    return value


def check_tenant(value: object, field: str = "tenant") -> str:
    """Return a tenant's name; "" is for work on nobody's behalf."""
    return "" if value == "" else check_name(value, field)


def _text(value: object, field: str, most: int) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= most:
        raise InvalidTask(field, f"must be text of 1 to {most} characters, not {value!r:.80}")
    encode(value, field)
    return value


def check_key(value: object, field: str) -> str:
    """Return a key: text that is not too long."""
    return _text(value, field, config.KEY_CHARS)


def check_reason(value: object, field: str = "reason") -> str | None:
    """Return why something was done, None if that is not said."""
    if value is None or value == "":
        return None
    if isinstance(value, str) and len(value) > config.REASON_CHARS:
        raise InvalidTask(field, f"is longer than {config.REASON_CHARS} characters")
    return _text(value, field, config.REASON_CHARS)


def _retry(value: object, field: str) -> str:
    if not isinstance(value, Backoff):
        raise InvalidTask(field, f"must be a Backoff(…), not {value!r:.80}")
    return value.to_json()


def check_timeout(value: object, field: str) -> Micros | None:
    """Return a time limit; None is none."""
    if value is None:
        return None
    return positive(value, field)


def positive(value: object, field: str) -> Micros:
    """Return a duration that is more than nothing."""
    length = duration(value, field)
    if length == 0:
        raise InvalidTask(field, "must be more than 0")
    return length


def check_tags(value: object, field: str) -> tuple[str, ...]:
    """Return tags: few and short."""
    if not isinstance(value, list | tuple) or len(value) > config.TAGS:
        raise InvalidTask(field, f"must be a list of at most {config.TAGS} texts")
    return tuple(_text(tag, f"{field}[{n}]", config.TAG_CHARS) for n, tag in enumerate(value))


def _headers(value: object, field: str) -> str | None:
    if not isinstance(value, Mapping) or len(value) > config.HEADERS:
        raise InvalidTask(field, f"must be a mapping of at most {config.HEADERS} texts to texts")
    for name, item in value.items():
        if not isinstance(name, str) or not isinstance(item, str):
            raise InvalidTask(f"{field}.{name}", "must be text")
    return encode(dict(value), field, most=config.HEADERS_BYTES) if value else None


def _misplaced(_value: object, field: str) -> None:
    raise InvalidTask(field, "belongs to what stores a call; give it to submit or submit_many")


_CHECKS: dict[str, Any] = {
    "queue": check_name,
    "tenant": check_tenant,
    "priority": check_priority,
    "run_at": moment,
    "delay": duration,
    "timeout": check_timeout,
    "retry": _retry,
    "key": check_key,
    "key_window": positive,
    "expires_at": moment,
    "expires_in": positive,
    "tags": check_tags,
    "headers": _headers,
    "concurrency_key": check_key,
    "max_concurrency": check_concurrency,
    "connection": _misplaced,
}


def declared(check: Any, value: Any, field: str, of: str) -> Any:
    """Check what a program declares, `of` a task or an app; a mistake is one of configuration."""
    try:
        return check(value, field)
    except InvalidTask as error:
        raise ConfigurationError(f"{of}: {error}") from None
