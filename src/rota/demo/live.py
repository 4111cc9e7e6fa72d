"""What is seen while the demo runs: a live line on a terminal, plain lines elsewhere."""

import sys
from collections.abc import Mapping, Sequence
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from rota.clock import SystemClock
from rota.demo.tasks import PASSWORD, REMINDER, RESULT

EVERY = 2.0
"""Plain lines come this many seconds apart."""


class Live(Protocol):
    """Tells people how far the demo is."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def say(self, text: str) -> None:
        """Tell what happened."""
        ...

    def show(self, sent: Mapping[str, int]) -> None:
        """Tell how many messages of each kind have been sent."""
        ...


class Silent:
    """Tells nothing: standard output is for the report alone."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End without a word."""

    def say(self, text: str) -> None:
        """Keep it to oneself."""

    def show(self, sent: Mapping[str, int]) -> None:
        """Keep it to oneself."""


class Plain(Silent):
    """Writes lines, for files and pipes."""

    def __init__(self, students: int) -> None:
        self._students = students
        self._clock = SystemClock()
        self._next = 0.0

    def say(self, text: str) -> None:
        print(text, flush=True)

    def show(self, sent: Mapping[str, int]) -> None:
        now = self._clock.monotonic()
        if now < self._next or not sent[RESULT]:
            return
        self._next = now + EVERY
        share = 100 * sent[RESULT] // self._students
        self.say(
            f"  {share:3d} %  {sent[RESULT]:,} results, {sent[REMINDER]} reminders, "
            f"{sent[PASSWORD]} passwords"
        )


class Moving(Silent):
    """Keeps one line moving below what is said, for terminals."""

    def __init__(self, students: int, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            TextColumn("  results"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("[dim]{task.fields[others]}[/]"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._row = self._progress.add_task("results", total=students, others="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False)

    def show(self, sent: Mapping[str, int]) -> None:
        others = f"{sent[REMINDER]} reminders, {sent[PASSWORD]} passwords"
        self._progress.update(self._row, completed=sent[RESULT], others=others)


def live_for(*, json: bool, students: int) -> Live:
    """Return what fits where standard output goes."""
    if json:
        return Silent()
    console = Console()
    return Moving(students, console) if console.is_terminal else Plain(students)


def print_report(rows: Sequence[tuple[str, str, str]], wrong: Sequence[str]) -> None:
    """Print the report, and last what is wrong or that nothing is."""
    print()
    for name, value, meaning in rows:
        print(f"  {name:<11}{value:>12}  {meaning}")
    print()
    for problem in wrong:
        print(f"WRONG: {problem}")
    if not wrong:
        print("Every student has exactly one message.")
    sys.stdout.flush()
