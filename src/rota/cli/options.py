"""The options that every command takes, and how option values are read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Group, Parameter, Token

from rota.clock import Micros
from rota.times import duration

GENERAL = Group("General options", sort_key=100)


@Parameter(name="*", group=GENERAL)
@dataclass(frozen=True, kw_only=True)
class Look:
    """How a command shows what it found."""

    json: Annotated[bool, Parameter(help="Print one JSON document; errors too, on stderr.")] = False
    no_color: Annotated[bool, Parameter(help="No colour, as with NO_COLOR=1.")] = False
    quiet: Annotated[bool, Parameter(help="No hints and no progress on stderr.")] = False
    verbose: Annotated[bool, Parameter(help="More on stderr; errors with their traceback.")] = False


@Parameter(name="*", group=GENERAL)
@dataclass(frozen=True, kw_only=True)
class Common(Look):
    """The general options of a command that needs a store."""

    url: Annotated[
        str | None,
        Parameter(
            help="Address of the store or server: sqlite:///file.db, postgresql://…, http://… "
            "(or ROTA_URL)."
        ),
    ] = None
    token_file: Annotated[
        str | None,
        Parameter(help="A file with the key for a server (or ROTA_TOKEN_FILE; or rota login)."),
    ] = None
    app: Annotated[
        str | None,
        Parameter(help="The app that defines the tasks: module:attribute (or ROTA_APP)."),
    ] = None


LOOK = Look()
COMMON = Common()

Converter = Callable[[Any, Sequence[Token]], int]


def whole(least: int, most: int | None = None) -> Converter:
    """Return a converter that takes whole decimal numbers within the bounds and nothing else."""

    # The parser's own would round 3.7 and read 0x10.
    def convert(_: Any, tokens: Sequence[Token]) -> int:
        text = tokens[0].value
        number = int(text) if text.isascii() and text.lstrip("-").isdigit() else None
        if number is not None and least <= number and (most is None or number <= most):
            return number
        upper = f" of at least {least}" if most is None else f" from {least} to {most}"
        raise ValueError(f"must be a whole number{upper}, not {text!r}")

    return convert


def spoken_duration(text: str) -> str | float:
    """Return a duration as `rota.times` takes it; a bare number means seconds.

    >>> spoken_duration("900"), spoken_duration("15m")
    (900.0, '15m')
    """
    try:
        return float(text)
    except ValueError:
        return text


def length(text: str, option: str) -> Micros:
    """Return the duration that an option gives; `InvalidTask` names the option if it is none."""
    return duration(spoken_duration(text), option)
