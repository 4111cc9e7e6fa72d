"""A handler's signature decides what a payload may be (R1.6)."""

import enum
import inspect
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from rota.arguments import Arguments
from rota.context import Context
from rota.errors import ConfigurationError, InvalidTask
from rota.model import Claimed


class Colour(enum.Enum):
    """Made up."""

    RED = "red"


@dataclass
class Student:
    """Made up."""

    id: int
    name: str


CLAIMED = Claimed("id", 3, 1, 0, 0, "kind", "default", "", 5, 0, 0, "{}")
CONTEXT = Context(CLAIMED)


def send(student_id: int, phone: str, ctx: Context, copies: int = 1) -> tuple[Any, ...]:
    """Return what it was called with."""
    return student_id, phone, ctx.fence, copies


def rich(
    at: datetime, who: Student, uid: UUID, cost: Decimal, *, colour: Colour, extra: Any = None
) -> tuple[Any, ...]:
    """Return what it was called with."""
    return at, who, uid, cost, colour, extra


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((1, "+91"), {}), ((1,), {"phone": "+91"}), ((), {"student_id": 1, "phone": "+91"})],
)
def test_arguments_are_bound_by_the_signature(args: Any, kwargs: Any) -> None:
    arguments = Arguments("send", send)

    payload = arguments.encode(args, kwargs)
    positional, named = arguments.load(payload, CONTEXT)

    assert payload == '{"student_id":1,"phone":"+91"}'
    assert send(*positional, **named) == (1, "+91", 3, 1)


@pytest.mark.parametrize("value", [1, "a", None, [1, {"b": 2.5}]])
def test_an_object_is_whatever_json_has(value: Any) -> None:
    def keep(value: object, more: list[object]) -> tuple[Any, ...]:
        return value, more

    arguments = Arguments("keep", keep)
    positional, named = arguments.load(arguments.encode((value, [value]), {}), CONTEXT)

    assert keep(*positional, **named) == (value, [value])


def test_rich_types_arrive_as_what_they_were() -> None:
    arguments = Arguments("rich", rich)
    given = (
        datetime(2026, 11, 30, tzinfo=UTC),
        Student(1, "a"),
        UUID("0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44"),
        Decimal("1.10"),
    )

    payload = arguments.encode(given, {"colour": Colour.RED})
    positional, named = arguments.load(payload, CONTEXT)

    assert (*given, Colour.RED, None) == rich(*positional, **named)


@pytest.mark.parametrize(
    ("kwargs", "field", "why"),
    [
        ({"student_id": "1", "phone": "+91"}, "payload.student_id", "int"),
        ({"student_id": 1}, "payload.phone", "missing"),
        ({"student_id": 1, "phone": "+91", "x": 2}, "payload.x", "not an argument"),
        ({"student_id": True, "phone": "+91"}, "payload.student_id", "int"),
        ({"student_id": 1, "phone": None}, "payload.phone", "str"),
    ],
)
def test_what_does_not_fit_the_signature_is_refused_by_its_name(
    kwargs: dict[str, Any], field: str, why: str
) -> None:
    """R1.6."""
    with pytest.raises(InvalidTask, match=why) as caught:
        Arguments("send", send).encode((), kwargs)

    assert field == caught.value.field


def test_too_many_arguments_are_refused() -> None:
    """R1.6."""
    with pytest.raises(InvalidTask, match="too many"):
        Arguments("send", send).encode((1, "+91", 2, 3), {})


@pytest.mark.parametrize("payload", ["", "[]", "nonsense", '{"student_id":1'])
def test_text_that_is_no_payload_is_refused(payload: str) -> None:
    with pytest.raises(InvalidTask):
        Arguments("send", send).check(payload)


def test_handlers_whose_parameters_have_no_names_are_refused_at_once() -> None:
    def variable(*items: int) -> None: ...
    def keywords(**items: int) -> None: ...
    def positional(item: int, /) -> None: ...

    for handler in (variable, keywords, positional):
        with pytest.raises(ConfigurationError, match="no name in a payload"):
            Arguments("task", handler)


def test_a_default_that_can_change_is_the_handlers_own() -> None:
    def handler(items: list[int] = []) -> list[int]:  # noqa: B006
        return items

    positional, named = Arguments("task", handler).load("{}", CONTEXT)

    assert handler(*positional, **named) == []


NOTHING_OF_JSON, SOME_ID = object(), UUID(int=1)


def _told(
    ctx: Context,
    day: str,
    *,
    retries: int = 3,
    of: UUID = SOME_ID,
    odd: Any = NOTHING_OF_JSON,
    nothing: str | None = None,
    long: str = "x" * 300,
) -> None: ...


def test_arguments_are_told_with_the_defaults_that_json_can_carry() -> None:
    """The context is none of them; what JSON cannot carry, or is long, is not told."""
    assert [(one.name, one.required, one.default) for one in Arguments("told", _told).shown] == [
        ("day", True, None),
        ("retries", False, 3),
        ("of", False, str(SOME_ID)),
        ("odd", False, None),
        ("nothing", False, None),
        ("long", False, None),
    ]


def test_of_many_arguments_the_first_hundred_are_told() -> None:
    """Bounds on everything: a handler of many parameters makes no endless list."""

    def handler() -> None: ...

    named = inspect.Parameter.KEYWORD_ONLY
    many = [inspect.Parameter(f"a{at}", named, default=0) for at in range(150)]
    handler.__signature__ = inspect.Signature(many)  # type: ignore[attr-defined]
    assert len(Arguments("many", handler).shown) == 100
