"""The verbs of the seam that go over HTTP as they are: who may call them, and with what (ADR 21).

What a verb takes and answers is read from its signature in `rota.backend.Backend`, so both sides
of the wire have it from one place.
"""

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, get_type_hints

import msgspec
from msgspec import Raw, Struct

from rota.access import Role
from rota.backend import Backend
from rota.model import State
from rota.shares import AnySettings, KindSettings, QueueSettings, TenantSettings

READ = frozenset({Role.READ})
BY_ID = frozenset({Role.READ, Role.SUBMIT})
SUBMIT = frozenset({Role.SUBMIT})
CANCEL = frozenset({Role.SUBMIT, Role.OPERATE})
OPERATE = frozenset({Role.OPERATE})
ADMIN = frozenset({Role.ADMIN})

ROLES: dict[str, frozenset[Role]] = {
    "submit": SUBMIT,
    "cancel": CANCEL,
    "get": BY_ID,
    "wake": frozenset({Role.SUBMIT, Role.OPERATE, Role.WORKER}),
    "queues_with_work": frozenset({Role.READ, Role.WORKER}),
    # Reading.
    "find": READ,
    "count": READ,
    "find_ids": READ,
    "ahead": READ,
    "groups": READ,
    "tallies": READ,
    "get_schedules": READ,
    "find_schedules": READ,
    "live": READ,
    "slots": READ,
    "slot_runs": READ,
    "gate_use": READ,
    "settings": READ,
    "limit_use": READ,
    "depths": READ,
    "sessions": READ,
    "search": READ,
    "ordered": READ,
    "count_among": READ,
    "action": READ,
    "actions": READ,
    "statistics": READ,
    "service": READ,
    "served": READ,
    "figures": READ,
    "scaling": READ,
    "alert_rules": READ,
    "find_alerts": READ,
    # Changing what runs.
    "retry": OPERATE,
    "replay": OPERATE,
    "edit_payload": OPERATE,
    "discard": OPERATE,
    "restore": OPERATE,
    "create_schedule": OPERATE,
    "change_schedule": OPERATE,
    "remove_schedule": OPERATE,
    "fire_extra": OPERATE,
    "put_settings": OPERATE,
    "amend": OPERATE,
    "stop_action": OPERATE,
    "silence_alert": OPERATE,
    "drain_session": OPERATE,
    # Setting up.
    "drop_settings": ADMIN,
    "put_limit": ADMIN,
    "drop_limit": ADMIN,
    "delete": ADMIN,
    "diagnose": ADMIN,
    "put_alert_rule": ADMIN,
    "drop_alert_rule": ADMIN,
    "keys": ADMIN,
    "add_key": ADMIN,
    "revoke_key": ADMIN,
    "audit": ADMIN,
    "webhooks": ADMIN,
    "put_webhook": ADMIN,
    "rotate_webhook": ADMIN,
    "drop_webhook": ADMIN,
}
"""Which roles may call a verb; one is enough. `put_settings` looks further: see the route."""

CHANGES = frozenset(
    name
    for name, roles in ROLES.items()
    if not roles & {Role.READ} and name not in ("wake", "diagnose", "keys", "audit", "webhooks")
)
"""What goes into the audit record."""


class SomeSettings(Struct, frozen=True):
    """Settings with a word for what they are of: by their fields alone they cannot be told."""

    what: Literal["queue", "tenant", "kind"]
    value: Raw


_SETTINGS: dict[str, type[Any]] = {
    "queue": QueueSettings,
    "tenant": TenantSettings,
    "kind": KindSettings,
}


def _pack_settings(value: Any) -> SomeSettings:
    what = next(word for word, kind in _SETTINGS.items() if type(value) is kind)
    return SomeSettings(what, Raw(msgspec.json.encode(value)))  # type: ignore[arg-type]


def _unpack_settings(value: SomeSettings) -> Any:
    return msgspec.json.decode(value.value, type=_SETTINGS[value.what])


_Tallies = dict[tuple[str, str, State], int]
_Tally = tuple[str, str, State, int]

_Pair = tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]
_OTHER: list[tuple[Any, _Pair]] = [
    (AnySettings, (SomeSettings, _pack_settings, _unpack_settings)),
    (
        _Tallies,
        (
            list[_Tally],
            lambda found: [(*key, count) for key, count in found.items()],
            lambda rows: {tuple(row[:3]): row[3] for row in rows},
        ),
    ),
]
"""What JSON has no form for: how it travels, and the ways there and back."""


class Verb:
    """A verb as it travels: its arguments by name, and its answer as `{"value": …}`."""

    def __init__(self, name: str) -> None:
        method = getattr(Backend, name)
        hints = get_type_hints(method)
        self.name = name
        self.roles = ROLES[name]
        self.signature = inspect.signature(method)
        parameters = list(self.signature.parameters.values())[1:]
        self._by_place = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
        self._ways = {p.name: _way(hints[p.name]) for p in parameters}
        fields = [_field(p, self._ways[p.name][0]) for p in parameters]
        takes = msgspec.defstruct(
            f"{name}_in", fields, frozen=True, kw_only=True, forbid_unknown_fields=True
        )
        self._takes = msgspec.json.Decoder(takes)
        answer, self._pack, self._unpack = _way(hints["return"])
        answered = msgspec.defstruct(f"{name}_out", [("value", answer)], frozen=True)
        self._answers = msgspec.json.Decoder(answered)

    def ask(self, *values: Any, **named: Any) -> bytes:
        """Return the arguments of a call as they travel."""
        bound = self.signature.bind(None, *values, **named)
        given = dict(list(bound.arguments.items())[1:])
        packed = {name: self._ways[name][1](value) for name, value in given.items()}
        return msgspec.json.encode(packed)

    def asked(self, body: bytes) -> tuple[list[Any], dict[str, Any]]:
        """Read the arguments of a call; `msgspec.ValidationError` if they do not fit."""
        given = self._takes.decode(body)
        values = {name: way[2](getattr(given, name)) for name, way in self._ways.items()}
        by_place = [values.pop(name) for name in self._by_place]
        return by_place, values

    def answer(self, value: Any) -> bytes:
        """Return an answer as it travels."""
        return msgspec.json.encode({"value": self._pack(value)})

    def answered(self, body: bytes) -> Any:
        """Read an answer."""
        found: Any = self._answers.decode(body)
        return self._unpack(found.value)


def _field(parameter: inspect.Parameter, wanted: Any) -> Any:
    if parameter.default is inspect.Parameter.empty:
        return (parameter.name, wanted)
    return (parameter.name, wanted, parameter.default)


def _way(hint: Any) -> _Pair:
    return next((way for other, way in _OTHER if other == hint), (hint, _same, _same))


def _same(value: Any) -> Any:
    return value


@cache
def verb(name: str) -> Verb:
    """Return a verb of the table; `KeyError` if there is none."""
    if name not in ROLES:
        raise KeyError(name)
    return Verb(name)
