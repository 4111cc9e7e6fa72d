"""A handler's arguments as a payload: bound by its signature, checked by its type hints."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

import msgspec
from msgspec import Struct

from rota.context import Context
from rota.errors import ConfigurationError, InvalidTask, RotaError
from rota.payload import encode, from_json
from rota.resource import Resource

_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
_NO_RESOURCES: Mapping[str, Any] = {}
SHOWN_MOST = 100
"""No more arguments of a kind than this are told."""
DEFAULT_CHARS = 200
"""A default that is longer as JSON is not told."""


class Argument(Struct, frozen=True):
    """One argument of a handler; `default` is null if it has none, or none that can be told."""

    name: str
    required: bool
    default: Any = None


class Arguments:
    """Turns the arguments of one handler into JSON and back (R1.6).

    Its context and its resources are no part of a payload. `ConfigurationError` if the signature
    cannot be one: `*args`, `**kwargs`, positional-only parameters, or a type that JSON cannot
    carry.
    """

    def __init__(self, kind: str, handler: Callable[..., Any]) -> None:
        self._kind = kind
        parameters, hints = _inspect(kind, handler)
        self._context_at = next(
            (i for i, p in enumerate(parameters) if hints.get(p.name) is Context), None
        )
        self.resources = {p.name: p.default for p in parameters if isinstance(p.default, Resource)}
        own = [
            p
            for p in parameters
            if hints.get(p.name) is not Context and p.name not in self.resources
        ]
        self._signature = inspect.Signature(own)
        self._names = [p.name for p in own]
        self._by_position = not self.resources and all(p.kind is _POSITIONAL for p in parameters)
        self._context_name = "" if self._context_at is None else parameters[self._context_at].name
        try:
            self._struct = msgspec.defstruct(
                f"{kind} payload", [_field(p, hints) for p in own], forbid_unknown_fields=True
            )
            self._decoder = msgspec.json.Decoder(self._struct, dec_hook=from_json)
        except (TypeError, NotImplementedError) as error:
            raise ConfigurationError(
                f"task {kind}: its arguments cannot be a payload: {error}"
            ) from None

    @property
    def names(self) -> list[str]:
        """The names of the arguments, in the handler's order, without context and resources."""
        return self._names

    @property
    def shown(self) -> list[Argument]:
        """The first `SHOWN_MOST` arguments as whoever submits without the code needs them."""
        return [_argument(self._signature.parameters[name]) for name in self._names[:SHOWN_MOST]]

    @property
    def takes_context(self) -> bool:
        """Whether the handler has a parameter for its context."""
        return self._context_at is not None

    def encode(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        """Return the payload of a call; `InvalidTask` names the argument that does not fit."""
        if args:
            kwargs = self._named(args, kwargs)
        text = encode(kwargs, "payload")
        self._decode(text)
        return text

    def _named(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
        names = self._names[: len(args)]
        if self._by_position and len(names) == len(args) and kwargs.keys().isdisjoint(names):
            return {**dict(zip(names, args, strict=True)), **kwargs}
        try:
            return self._signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise InvalidTask("payload", f"{self._kind}: {error}") from None

    def check(self, payload: str) -> None:
        """Refuse a payload that does not fit the handler's signature; `InvalidTask` says where."""
        self._decode(payload)

    def load(
        self,
        payload: str,
        context: Context | None = None,
        resources: Mapping[str, Any] = _NO_RESOURCES,
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return what to call the handler with; `InvalidTask` if the payload does not fit it.

        `context` is needed only by a handler that takes one, `resources` by one that asks for any.
        """
        values = self._decode(payload)
        if self._by_position:
            arguments = msgspec.structs.astuple(values)
            if self._context_at is not None:
                at = self._context_at
                arguments = (*arguments[:at], context, *arguments[at:])
            return arguments, {}
        named = {name: getattr(values, name) for name in self._names} | dict(resources)
        if self._context_at is not None:
            named[self._context_name] = context
        return (), named

    def _decode(self, payload: str) -> Any:
        try:
            return self._decoder.decode(payload)
        except msgspec.ValidationError as error:
            problem, _, place = str(error).partition(" - at `$")
            raise InvalidTask(_place(place, problem), _plain(problem)) from None
        except msgspec.DecodeError as error:
            raise InvalidTask("payload", f"is not JSON: {error}") from None


def _inspect(
    kind: str, handler: Callable[..., Any]
) -> tuple[list[inspect.Parameter], dict[str, Any]]:
    parameters = list(inspect.signature(handler).parameters.values())
    for parameter in parameters:
        if parameter.kind not in (_POSITIONAL, inspect.Parameter.KEYWORD_ONLY):
            raise ConfigurationError(
                f"task {kind}: parameter {parameter} has no name in a payload; "
                "give the handler parameters with names"
            )
    try:
        hints = get_type_hints(handler, include_extras=True)
    except NameError as error:
        raise ConfigurationError(
            f"task {kind}: a type hint cannot be read: {error}; "
            "define the type at the top of its module"
        ) from None
    return parameters, hints


def _field(parameter: inspect.Parameter, hints: dict[str, Any]) -> Any:
    wanted = hints.get(parameter.name, Any)
    if parameter.default is inspect.Parameter.empty:
        return parameter.name, wanted
    default = parameter.default
    return parameter.name, wanted, msgspec.field(default_factory=lambda: default)


def _argument(parameter: inspect.Parameter) -> Argument:
    if parameter.default is inspect.Parameter.empty:
        return Argument(parameter.name, required=True)
    try:
        text = encode({"default": parameter.default}, parameter.name)
    except RotaError:  # such a default is only ever seen by the handler
        return Argument(parameter.name, required=False)
    told = msgspec.json.decode(text)["default"] if len(text) <= DEFAULT_CHARS else None
    return Argument(parameter.name, required=False, default=told)


def _place(place: str, problem: str) -> str:
    place = place.rstrip("`")
    if not place and "`" in problem:
        return f"payload.{problem.split('`')[-2]}"
    return f"payload{place}"


def _plain(problem: str) -> str:
    if problem.startswith("Object missing required field"):
        return "is missing"
    if problem.startswith("Object contains unknown field"):
        return "is not an argument of this task"
    return problem[:1].lower() + problem[1:]
