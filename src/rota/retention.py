"""How long an app keeps what is over: read and checked (R9.5)."""

from collections.abc import Mapping
from typing import Any, TypedDict

import msgspec

from rota.config import KEEP_DISCARDED, KEEP_FAILED, KEEP_FINISHED
from rota.errors import ConfigurationError, InvalidTask
from rota.model import Retention
from rota.registry import check_name, did_you_mean
from rota.times import Duration, duration

RETENTION = Retention(
    completed=KEEP_FINISHED,
    cancelled=KEEP_FINISHED,
    failed=KEEP_FAILED,
    discarded=KEEP_DISCARDED,
)
"""What counts unless the app says otherwise."""


class Keep(TypedDict, total=False):
    """How long tasks are kept after their end, and with them their results.

    `queues` has the queues whose finished tasks are kept for another time than the others.
    """

    completed: Duration
    cancelled: Duration
    failed: Duration
    discarded: Duration
    queues: Mapping[str, Duration]


def check_retention(keep: Mapping[str, Any] | None) -> Retention:
    """Return the retention that an app asks for; `ConfigurationError` names what is wrong.

    >>> check_retention({"completed": "1d"}).completed == 24 * 3600 * 1_000_000
    True
    """
    if keep is not None and not isinstance(keep, Mapping):
        raise ConfigurationError(f'keep must be like {{"completed": "1d"}}, not {keep!r:.80}')
    try:
        return _checked(keep or {})
    except InvalidTask as error:
        raise ConfigurationError(f"keep: {error}") from None


def _checked(keep: Mapping[str, Any]) -> Retention:
    changes: dict[str, Any] = {}
    for name, value in keep.items():
        if name == "queues":
            changes[name] = {
                check_name(queue, "queues"): duration(length, f"queues.{queue}")
                for queue, length in _mapping(value, "queues").items()
            }
        elif name in Retention.__struct_fields__:
            changes[name] = duration(value, name)
        else:
            hint = did_you_mean(name, Retention.__struct_fields__)
            raise ConfigurationError(f"keep: there is nothing called {name!r} to keep{hint}")
    return msgspec.structs.replace(RETENTION, **changes)


def _mapping(value: object, field: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidTask(field, f"must map queues to how long, not {value!r:.80}")
    return value
