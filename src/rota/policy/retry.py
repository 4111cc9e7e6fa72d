"""How long to wait after a failed attempt, and how often to try (R4.1)."""

import math
from typing import Final, Literal, get_args

import msgspec

from rota.config import LONGEST_DELAY, SECOND
from rota.errors import ConfigurationError
from rota.model import Micros

Growth = Literal["exponential", "linear", "fixed"]

_GROWTHS: Final = get_args(Growth)
_LONGEST: Final = LONGEST_DELAY / SECOND


class Backoff(msgspec.Struct, frozen=True, kw_only=True):
    """A retry policy: `max_attempts` runs in all, with growing waits between them (R4.1).

    `base` and `cap` are seconds. The wait after attempt n is `base * multiplier ** (n - 1)`
    (exponential), `base * n` (linear) or `base` (fixed), never more than `cap`; chance then adds
    up to the share `jitter` of it.

    >>> Backoff(max_attempts=3).base
    2.0
    """

    type: Growth = "exponential"
    base: float = 2.0
    multiplier: float = 2.0
    cap: float = 300.0
    jitter: float = 0.25
    max_attempts: int = 5

    def __post_init__(self) -> None:
        if self.type not in _GROWTHS:
            raise _refused("type", f"one of {', '.join(_GROWTHS)}", self.type)
        _check_number("base", self.base, 0, _LONGEST)
        _check_number("multiplier", self.multiplier, 1, math.inf)
        _check_number("cap", self.cap, 0, _LONGEST)
        _check_number("jitter", self.jitter, 0, 1)
        if type(self.max_attempts) is not int or self.max_attempts < 1:
            raise _refused("max_attempts", "a whole number of at least 1", self.max_attempts)

    def to_json(self) -> str:
        """Return the policy as JSON with every field, so that later defaults do not change it."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str) -> "Backoff":
        """Return the policy that `to_json` wrote; fields of newer versions are ignored (R8.6)."""
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.DecodeError as error:
            raise ConfigurationError(f"the retry policy cannot be read: {error}") from error


def delay(policy: Backoff, attempt: int, chance: float) -> Micros:
    """Return the wait after the attempt of this number (from 1) failed, in microseconds (R4.1).

    `chance` is a number in [0, 1). The answer lies in [0, cap * (1 + jitter)] whatever the
    attempt's number is (case B133).

    >>> [delay(Backoff(), attempt, chance=0.0) // SECOND for attempt in (1, 2, 3, 5000)]
    [2, 4, 8, 300]
    """
    base, cap = round(policy.base * SECOND), round(policy.cap * SECOND)
    match policy.type:
        case "exponential":
            wait = _grown(base, policy.multiplier, attempt - 1, cap)
        case "linear":
            wait = min(base * attempt, cap)
        case "fixed":
            wait = min(base, cap)
    return int(wait * (1 + policy.jitter * chance))


def _grown(base: Micros, multiplier: float, steps: int, cap: Micros) -> float:
    """Return `base * multiplier ** steps`, at most `cap`, without computing a power beyond it."""
    if not 0 < base < cap:
        return min(base, cap)
    # Past this many steps the cap is reached. To find that out by computing the power would
    # overflow: 2.0 ** 1024 raises.
    if multiplier > 1 and steps >= math.log(cap / base) / math.log(multiplier):
        return cap
    return min(base * multiplier**steps, cap)


def _check_number(field: str, value: object, least: float, most: float) -> None:
    # NaN compares false with everything, so it is refused here as well.
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and least <= value < math.inf and value <= most:  # type: ignore[operator]
        return
    upper = f" to {most:g}" if most < math.inf else " or more"
    raise _refused(field, f"a finite number, {least:g}{upper}", value)


def _refused(field: str, wanted: str, value: object) -> ConfigurationError:
    return ConfigurationError(f"Backoff {field} must be {wanted}, not {value!r}")
