"""Settings and limits as the tables of both stores have them, and back."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from rota.config import SECOND
from rota.errors import StoreError
from rota.model import Micros
from rota.shares import (
    AnySettings,
    KindSettings,
    Limit,
    LimitUse,
    QueueSettings,
    Settings,
    TenantSettings,
)

SET_BACK: Final[Micros] = 10 * SECOND
"""A clock that is so far behind a limit was set back: the limit counts from there (0009_shares)."""
SLACK: Final = 1e-6
"""A token may fall short of a whole one by what arithmetic loses (0009_shares)."""

_encode = msgspec.json.Encoder().encode
_rows_in = msgspec.json.Decoder(list[tuple[str, int, msgspec.Raw]]).decode
_limits_in = msgspec.json.Decoder(tuple[Limit, ...]).decode
_limit_in = msgspec.json.Decoder(Limit).decode

_NOUNS: Final[dict[type[AnySettings], str]] = {
    QueueSettings: "queue",
    TenantSettings: "tenant",
    KindSettings: "kind",
}
_SETTINGS_IN: Final = {noun: msgspec.json.Decoder(type_).decode for type_, noun in _NOUNS.items()}


def key(settings: AnySettings) -> dict[str, str]:
    """Return by what columns settings are found."""
    return {"noun": _NOUNS[type(settings)], "name": settings.name}


def body(settings: AnySettings) -> str:
    """Return settings as JSON; the version has a column of its own."""
    return _encode(settings).decode()


def columns(limit: Limit) -> dict[str, Any]:
    """Return those columns of a limit by name that are told, not counted."""
    values = msgspec.structs.asdict(limit)
    del values["tokens"], values["version"]
    return values


def settings_of(version: int, rows: str, limits: str) -> Settings:
    """Return the settings in the row of `settings`."""
    found: dict[str, dict[str, Any]] = {noun: {} for noun in _SETTINGS_IN}
    for noun, row_version, text in _rows_in(rows):
        try:
            settings = _SETTINGS_IN[noun](text)
        except msgspec.ValidationError as error:
            problem = f"settings of a {noun} are not known to this version of Rota: {error}"
            raise StoreError(problem) from error
        found[noun][settings.name] = msgspec.structs.replace(settings, version=row_version)
    return Settings(version, found["queue"], found["tenant"], found["kind"], _limits_in(limits))


def limit_of(row: str) -> Limit:
    """Return the limit in a row of `limit_use`."""
    return _limit_in(row)


def uses(
    running: Iterable[tuple[Limit, int]], limit_ids: Sequence[str], now: Micros
) -> list[LimitUse]:
    """Return how much of limits is in use, in the order in which they were asked for."""
    found = {}
    for limit, number in running:
        as_of, tokens = filled(limit, now)
        found[limit.id] = LimitUse(limit, number, tokens, as_of)
    return [found[limit_id] for limit_id in limit_ids if limit_id in found]


def filled(limit: Limit, now: Micros) -> tuple[Micros, float | None]:
    """Return until when the tokens of a limit are filled up by a clock, and how many there are.

    One that is behind fills nothing up, unless it was set back.
    """
    if limit.rate is None or limit.burst is None:
        return now, None
    at = now if limit.filled_at > now + SET_BACK else max(limit.filled_at, now)
    gained = max(at - limit.filled_at, 0) * limit.rate / SECOND
    return at, min(limit.burst, limit.tokens + gained)
