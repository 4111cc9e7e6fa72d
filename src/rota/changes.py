"""What can be changed of a task that waits: read, checked and named in errors (R5.4)."""

from collections.abc import Callable, Mapping
from typing import Any, TypedDict

from rota.actions import Changes
from rota.errors import InvalidTask
from rota.options import check_priority, check_tags, check_timeout
from rota.registry import check_name, did_you_mean
from rota.times import Duration, Instant, moment


class Amendment(TypedDict, total=False):
    """What a task that waits can be amended to; what is left out stays as it is."""

    priority: int
    queue: str
    run_at: Instant
    timeout: Duration | None
    tags: list[str] | tuple[str, ...]


_CHECKS: dict[str, Callable[[Any, str], Any]] = {
    "priority": check_priority,
    "queue": check_name,
    "run_at": moment,
    "timeout": check_timeout,
    "tags": check_tags,
}


def check_changes(given: Mapping[str, Any]) -> Changes:
    """Return changes; `InvalidTask` names the field that is none or does not fit.

    >>> check_changes({"priority": 0}).priority
    0
    """
    if not given:
        raise InvalidTask("set", f"is empty; give some of {', '.join(_CHECKS)}")
    for name in given:
        if name not in _CHECKS:
            hint = did_you_mean(name, _CHECKS) or f"; there are {', '.join(_CHECKS)}"
            raise InvalidTask(name, f"cannot be changed{hint}")
    return Changes(**{name: _CHECKS[name](value, name) for name, value in given.items()})
