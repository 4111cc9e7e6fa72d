"""Alert rules and endpoints as people write them: read and checked (R4.5, R9.4)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypedDict
from urllib.parse import SplitResult, urlsplit

from rota.alerting import EACH, Shape
from rota.checks import Checks, checked, flag, one_of
from rota.clock import Micros
from rota.errors import InvalidTask
from rota.figures import DEAD_LETTERS_CAP, DEPTH_CAP, Figure
from rota.registry import check_name
from rota.times import Duration, duration

URL_CHARS: Final = 2_048
WEBHOOKS_MOST: Final = 50
RULES_MOST: Final = 200
THRESHOLD_MOST: Final = 1e12

_COUNTED: Final = {Figure.DEPTH: DEPTH_CAP, Figure.DEAD_LETTERS: DEAD_LETTERS_CAP}
_PARTS: Final = (Figure.ERRORS, Figure.SATURATION)
_SPACES = re.compile(r"[\s\x00-\x1f\x7f\\]")


class RuleChanges(TypedDict, total=False):
    """What can be set of a rule; `queue` None is all together, "*" each, `webhooks` None is all."""

    figure: Figure | str
    threshold: float
    queue: str | None
    hold: Duration
    clear: float
    enabled: bool
    webhooks: Sequence[str] | None


class WebhookChanges(TypedDict, total=False):
    """What can be set of an endpoint."""

    url: str
    shape: Shape | str
    enabled: bool


def check_rule(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return checked changes of a rule; `InvalidTask` names what is wrong.

    >>> check_rule({"figure": "oldest_age", "threshold": 60, "hold": "2m"})["hold"]
    120000000
    """
    return checked(given, _RULE, "of alert rules")


def check_fits(figure: Figure, threshold: float) -> None:
    """Refuse a threshold that the figure cannot reach."""
    if figure in _PARTS and threshold > 1:
        raise InvalidTask("threshold", f"of {figure} is a part of one: 0.05 is 5 %")
    most = _COUNTED.get(figure)
    if most is not None and threshold > most:
        raise InvalidTask("threshold", f"of {figure} can be {most:,} at most: more is not counted")


def check_webhook(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return checked changes of an endpoint; `InvalidTask` names what is wrong."""
    return checked(given, _WEBHOOK, "of webhooks")


def check_url(value: object, field: str = "url") -> str:
    """Return an address that can be called: http or https, with a host and without a log-in.

    Where it leads is checked when it is called, after its name is resolved (S4).
    """
    if not isinstance(value, str) or not 0 < len(value) <= URL_CHARS or _SPACES.search(value):
        raise InvalidTask(field, f"must be an http or https address, not {value!r:.80}")
    try:
        split = urlsplit(value)
        host, _ = split.hostname, split.port
    except ValueError as error:
        raise InvalidTask(field, f"{value!r:.80} is no address: {error}") from None
    if split.scheme not in ("http", "https") or not host:
        raise InvalidTask(
            field, f"must begin with https:// and the name of a host, not {value!r:.80}"
        )
    if _user_of(split):
        raise InvalidTask(field, "must hold no user or password; they would be seen by everybody")
    return value


def check_until(value: Duration, now: Micros, field: str = "until") -> Micros:
    """Return until when something is silenced that is for so long from now on."""
    return now + duration(value, field)


def _user_of(split: SplitResult) -> bool:
    return "@" in split.netloc


def _number(value: object, field: str, most: float) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= most:
        return float(value)
    raise InvalidTask(field, f"must be a number above 0, at most {most:g}, not {value!r:.80}")


def _queue(value: object, field: str) -> str | None:
    if value is None:
        return None
    return EACH if value == EACH else check_name(value, field)


def _webhooks(value: object, field: str) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) > WEBHOOKS_MOST:
        raise InvalidTask(field, f"must be a list of ids of webhooks, at most {WEBHOOKS_MOST}")
    if not all(isinstance(one, str) for one in value):
        raise InvalidTask(field, "must be a list of ids of webhooks, as texts")
    return tuple(value)


_RULE: Final[Checks] = {
    "figure": one_of(Figure),
    "threshold": lambda value, field: _number(value, field, THRESHOLD_MOST),
    "queue": _queue,
    "hold": duration,
    "clear": lambda value, field: _number(value, field, 1.0),
    "enabled": flag,
    "webhooks": _webhooks,
}
_WEBHOOK: Final[Checks] = {
    "url": check_url,
    "shape": one_of(Shape),
    "enabled": flag,
}
