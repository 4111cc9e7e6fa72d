"""The options that every command takes, and how option values are read."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Group, Parameter, Token

from rota.cli.problems import UsageError
from rota.clock import Micros
from rota.times import duration

PORT_MOST = 65_535
NUMBER_MOST = 1_000_000_000
"""No count that anybody means is larger."""
_WHOLE = re.compile(r"-?[0-9]{1,30}")

GENERAL = Group("General options", sort_key=100)


@Parameter(name="*", group=GENERAL)
@dataclass(frozen=True, kw_only=True)
class Look:
    """How a command shows what it found."""

    json: Annotated[bool, Parameter(help="Print one JSON document; errors too, on stderr.")] = False
    no_color: Annotated[bool, Parameter(help="No colour, as with NO_COLOR=1.")] = False
    no_input: Annotated[
        bool, Parameter(help="Ask nothing, also on a terminal; what would be asked is refused.")
    ] = False
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
        number = int(text) if _WHOLE.fullmatch(text) else None
        if number is not None and least <= number <= (NUMBER_MOST if most is None else most):
            return number
        upper = f" of at least {least}" if most is None else f" from {least} to {most}"
        if number is not None and number > NUMBER_MOST:
            upper = f" of at most {NUMBER_MOST:,}"
        raise ValueError(f"must be a whole number{upper}, not {text!r:.40}")

    return convert


def check_ports(first: int, processes: int) -> None:
    """Refuse a metrics port from which on there is not one for each process: `UsageError`."""
    if first and first + processes - 1 > PORT_MOST:
        raise UsageError(
            f"--metrics-port {first} leaves no port for {processes} processes; the last is "
            f"{PORT_MOST}"
        )


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
