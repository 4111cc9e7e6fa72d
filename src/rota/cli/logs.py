"""Log records as a person reads them: one line each, on stderr."""

import logging
import sys
from datetime import UTC, datetime

from rota.cli.options import Look
from rota.cli.text import one_line


class OneLine(logging.Formatter):
    """Writes a record on one line; the traceback of an error only where it is asked for."""

    def __init__(self, *, tracebacks: bool) -> None:
        super().__init__()
        self._tracebacks = tracebacks

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        text = one_line(record.getMessage())
        head = f"{at.removesuffix('+00:00')}Z {record.levelname:<7} {record.name}: {text}"
        if not record.exc_info or record.exc_info[1] is None:
            return head
        error = record.exc_info[1]
        if self._tracebacks:
            return f"{head}\n{self.formatException(record.exc_info)}"
        return f"{head}: {type(error).__name__}: {one_line(str(error))}"


def set_up_logs(look: Look, *, usual: int = logging.WARNING) -> None:
    """Send log records to stderr: from `usual` upward, `--verbose` more, `--quiet` less.

    An app that has set up logging of its own keeps it; only the level of Rota's loggers is set.
    """
    level = logging.DEBUG if look.verbose else logging.ERROR if look.quiet else usual
    logging.getLogger("rota").setLevel(level)
    root = logging.getLogger()
    if root.handlers:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine(tracebacks=look.verbose))
    root.addHandler(handler)
    # What is not ours may speak as in a plain program, however much is wanted of Rota.
    root.setLevel(max(level, logging.INFO))
