"""`--watch`: a list that is looked at again and again; live on a terminal, changes elsewhere."""

import io
import threading
from collections.abc import Callable, Iterator, Sequence

from rota.cli.output import Output
from rota.model import Task

EVERY = 1.0
"""Seconds between two looks."""

Read = Callable[[], Sequence[Task]]


def wait(seconds: float) -> None:
    """Wait until it is time to look again."""
    threading.Event().wait(seconds)


class Changes:
    """Tells which tasks are not as they were at the last look; remembers one page."""

    def __init__(self) -> None:
        self._last: dict[str, Task] = {}

    def among(self, page: Sequence[Task]) -> list[Task]:
        """Return the tasks of a page that are new or have changed, oldest first."""
        changed = [task for task in reversed(page) if self._last.get(task.id) != task]
        self._last = {task.id: task for task in page}
        return changed


def changes(read: Read) -> Iterator[Task]:
    """Yield what matches now, then whatever of it changes or comes, until interrupted."""
    seen = Changes()
    while True:
        yield from seen.among(read())
        wait(EVERY)


def live(output: Output, read: Read, show: Callable[[Output, Sequence[Task]], None]) -> None:
    """Keep a table on the terminal up to date, until interrupted."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(file=output.out, no_color=not output.colour, width=output.width)
    with Live(console=console, auto_refresh=False) as screen:
        while True:
            table = io.StringIO()
            show(output.onto(table), read())
            screen.update(Text.from_ansi(table.getvalue()), refresh=True)
            wait(EVERY)
