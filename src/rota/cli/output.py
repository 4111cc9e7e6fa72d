"""Where a command's words go: data to stdout, hints and progress to stderr.

On a terminal there are tables and colour; anything else gets the same columns separated by tabs,
in UTC and untruncated. JSON comes only when it is asked for.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, TextIO

import msgspec

from rota.cli.options import Look
from rota.cli.text import visible
from rota.model import State

STYLES: Mapping[str, str] = {
    State.SCHEDULED: "blue",
    State.READY: "cyan",
    State.RUNNING: "yellow",
    State.COMPLETED: "green",
    State.CANCELLED: "bright_black",
    State.FAILED: "red",
}
"""The colour of a task's state, which always stands beside its name."""

_OTHERS: Mapping[str, str] = {
    "firing": "red",
    "cleared": "green",
    "silenced": "bright_black",
    "on": "green",
    "off": "bright_black",
    "live": "green",
    "expired": "bright_black",
    "revoked": "bright_black",
    "stopped": "bright_black",
}
"""The colours of the states of alerts, rules, webhooks, keys and actions."""


class Output:
    """The two streams of a command, and how they want to be written to."""

    def __init__(
        self,
        look: Look,
        *,
        out: TextIO | None = None,
        err: TextIO | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.out = out or sys.stdout
        self.err = err or sys.stderr
        self.terminal = self.out.isatty()
        self.colour = _wants_colour(look, self.terminal, environ)
        self.quiet = look.quiet
        self._last_progress = 0

    def onto(self, out: TextIO) -> "Output":
        """Return the same output with its data going elsewhere."""
        other = copy(self)
        other.out = out
        return other

    @property
    def width(self) -> int:
        """How many characters a line of the terminal holds; `COLUMNS` has the last word."""
        return shutil.get_terminal_size().columns

    def line(self, text: str = "") -> None:
        """Write one line of data."""
        self.out.write(f"{text}\n")

    def styled(self, text: str, style: str) -> str:
        """Return a word in colour where colour is wanted, as it is elsewhere."""
        if not self.colour or not style:
            return text
        from rich.style import Style

        return Style.parse(style).render(text)

    def fields(self, values: Iterable[str]) -> None:
        """Write one line for programs, its values separated by tabs."""
        self.line("\t".join(visible(value) for value in values))

    def table(
        self, headings: Sequence[str], rows: Iterable[Sequence[str]], *, head: bool = True
    ) -> None:
        """Write a table that fits the terminal; states get their colour."""
        from rota.cli.tables import GAP, fitted

        safe = [[visible(cell) for cell in row] for row in rows]
        heading, *lines = fitted(headings, safe, self.width)
        if head:
            self.line(self.styled(GAP.join(heading).rstrip(), "bold"))
        for whole, cells in zip(safe, lines, strict=True):
            styles = map(_style, headings, whole)
            self.line(GAP.join(map(self.styled, cells, styles)).rstrip())

    def document(self, value: Any) -> None:
        """Write one JSON document."""
        text = msgspec.json.format(msgspec.json.encode(value), indent=2)
        self.line(text.decode())

    def object(self, value: Any) -> None:
        """Write one JSON object on a line of its own, at once."""
        self.line(msgspec.json.encode(value).decode())
        self.out.flush()

    def array(self, values: Iterable[Any]) -> None:
        """Write one JSON array, item by item, so that it may be of any length."""
        lead = "["
        for value in values:
            self.out.write(f"{lead}\n  {msgspec.json.encode(value).decode()}")
            lead = ","
        self.line("[]" if lead == "[" else "\n]")

    def hint(self, text: str) -> None:
        """Tell a person something beside the data, unless they asked for quiet."""
        if not self.quiet:
            self.err.write(f"{text}\n")

    def progress(self, count: int, what: Callable[[int], str]) -> None:
        """Show how far a long command has come, on a terminal only."""
        if self.quiet or not self.err.isatty() or count < self._last_progress + 1_000:
            return
        self._last_progress = count
        self.err.write(f"\r{what(count)}\x1b[K")
        self.err.flush()

    def end_progress(self) -> None:
        """Take the progress off the screen again."""
        if self._last_progress:
            self.err.write("\r\x1b[K")


def _style(heading: str, cell: str) -> str:
    if heading != "STATE":
        return ""
    return STYLES.get(cell) or _OTHERS.get(cell, "")


def _wants_colour(look: Look, terminal: bool, environ: Mapping[str, str]) -> bool:
    if look.no_color or environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "0") != "0":
        return True
    return terminal and environ.get("TERM") != "dumb"
