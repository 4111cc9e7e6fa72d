"""Log records as a person or a program reads them: one line each, on stderr."""

import logging
import os
import sys
from datetime import UTC, datetime
from typing import Annotated, Literal

from cyclopts import Parameter

from rota.cli.options import Look
from rota.cli.problems import UsageError
from rota.cli.text import one_line
from rota.logs import JsonLines, count_troubles

FORMAT_VARIABLE = "ROTA_LOG_FORMAT"

Form = Literal["text", "json"]
LogFormat = Annotated[
    Form | None,
    Parameter(help="Log lines for people (text) or programs (json); or ROTA_LOG_FORMAT."),
]
"""The option of the commands that run for long."""


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


def set_up_logs(look: Look, *, usual: int = logging.WARNING, form: Form | None = None) -> None:
    """Send log records to stderr: from `usual` upward, `--verbose` more, `--quiet` less.

    `form` is how they are written, here and in processes that this one starts; without it
    `$ROTA_LOG_FORMAT` says so, then text. An app that has set up logging of its own keeps it; only
    the level of Rota's loggers is set.
    """
    if form is not None:
        os.environ[FORMAT_VARIABLE] = form
    level = logging.DEBUG if look.verbose else logging.ERROR if look.quiet else usual
    logging.getLogger("rota").setLevel(level)
    as_json = _form_set() == "json"
    # One line for each run is for programs that count and search; a person would drown in it.
    logging.getLogger("rota.run").setLevel(logging.NOTSET if as_json else logging.WARNING)
    count_troubles()
    root = logging.getLogger()
    if root.handlers:
        return
    handler = logging.StreamHandler(sys.stderr)
    formatter = JsonLines if as_json else OneLine
    handler.setFormatter(formatter(tracebacks=look.verbose))
    root.addHandler(handler)
    # What is not ours may speak as in a plain program, however much is wanted of Rota.
    root.setLevel(max(level, logging.INFO))


def _form_set() -> str:
    form = os.environ.get(FORMAT_VARIABLE) or "text"
    if form not in ("text", "json"):
        raise UsageError(f"{FORMAT_VARIABLE} is text or json, not {form!r}")
    return form
