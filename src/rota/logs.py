"""Log records as JSON: one object a line, with the ids that they are about (R9.3).

Payloads, the values of headers and secrets are never among them (S11, case B177): only what is
listed in `FIELDS` is taken from a record, and whatever looks like a secret is masked.
"""

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from rota.config import SECOND
from rota.times import show_instant

FIELDS = (
    "event",
    "task_id",
    "kind",
    "queue",
    "tenant",
    "attempt",
    "fence",
    "session",
    "schedule",
    "slot",
    "request_id",
    "trace_id",
    "span_id",
    "duration_s",
    "outcome",
    "error.type",
)
"""What a record may carry besides its message, in the order in which it is written."""

LOGGERS = (
    "rota.alerts",
    "rota.engine",
    "rota.node",
    "rota.run",
    "rota.schedules",
    "rota.server",
    "rota.store",
    "rota.task",
    "rota.worker",
)
"""The loggers of processes that run for long."""
LOGGERS_MOST = 100

TEXT_CHARS = 16 * 1024
"""A message or a traceback longer than this is cut: a line of a log has to be read by machines."""

_MASK = "…"
_BREAKS = {code: f"\\u{code:04x}" for code in (0x7F, 0x85, 0x2028, 0x2029)}
"""What some readers take for the end of a line, or obey, and JSON leaves as it is."""
_SECRETS = (
    # Keys and the secrets of webhooks: whoever finds one in a log could use it.
    re.compile(r"(?<=rota_)(\w+?)_\w{30,}"),
    re.compile(r"(?<=whsec_)[\w+/=-]+"),
    re.compile(r"(?i)(?<=bearer )\S+"),
    # Passwords in addresses, and options that carry one.
    re.compile(r"(?<=://)([^\s:/@]*):[^\s/@]+(?=@)"),
    re.compile(r"(?i)(?:(?<=password=)|(?<=token=)|(?<=secret=)|(?<=code=))[^\s&'\"]+"),
)

sources: list[Callable[[], Mapping[str, str]]] = []
"""Who is asked for more fields of the record that is being written, the ids of a trace for one."""


class JsonLines(logging.Formatter):
    """Writes a record as one JSON object on one line; tracebacks only where they are asked for."""

    def __init__(self, *, tracebacks: bool = False) -> None:
        super().__init__()
        self._tracebacks = tracebacks

    def format(self, record: logging.LogRecord) -> str:
        shown: dict[str, Any] = {
            "ts": show_instant(int(record.created * SECOND)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": scrubbed(record.getMessage()),
        }
        given = record.__dict__
        for source in sources:
            given = {**source(), **given}
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            given = {**given, "error.type": type(error).__name__}
        shown |= {name: _plain(given[name]) for name in FIELDS if given.get(name) is not None}
        if error is not None:
            shown["error.message"] = scrubbed(str(error))
            if self._tracebacks and record.exc_info:
                shown["error.traceback"] = scrubbed(self.formatException(record.exc_info))
        # Nothing in a text can begin a line (S10, case B179): JSON escapes most breaks by itself.
        return msgspec.json.encode(shown).decode().translate(_BREAKS)


class Troubles(logging.Handler):
    """Counts warnings and errors by logger and level, so that each can be watched (R9.3).

    It writes nothing. Of loggers so many have names of their own, all others are `_other`.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.counts = {(name, level): 0 for name in LOGGERS for level in ("warning", "error")}

    def emit(self, record: logging.LogRecord) -> None:
        """Count a record."""
        level = "error" if record.levelno >= logging.ERROR else "warning"
        key = (record.name, level)
        if key not in self.counts and len(self.counts) >= LOGGERS_MOST:
            key = ("_other", level)
        self.counts[key] = self.counts.get(key, 0) + 1


troubles = Troubles()
"""What has been logged in this process, once `count_troubles` was called."""


def count_troubles() -> None:
    """Count what Rota's loggers warn of from now on.

    Only where logs are set up: a logger with a handler of its own does not fall back to stderr.
    """
    logger = logging.getLogger("rota")
    if troubles not in logger.handlers:
        logger.addHandler(troubles)


def scrubbed(text: str) -> str:
    """Return a text fit for a log: of bounded length, without what looks like a secret (S11).

    >>> scrubbed("cannot reach postgresql://rota:hunter2@db/rota?password=hunter2")
    'cannot reach postgresql://rota:…@db/rota?password=…'
    """
    for pattern in _SECRETS:
        text = pattern.sub(_masked, text)
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= TEXT_CHARS else f"{text[:TEXT_CHARS]}{_MASK}"


def _masked(match: re.Match[str]) -> str:
    if match.lastindex is None:
        return _MASK
    return f"{match[1]}{':' if match.string[match.end() : match.end() + 1] == '@' else '_'}{_MASK}"


def _plain(value: Any) -> str | int | float | bool:
    return value if isinstance(value, int | float | bool) else scrubbed(str(value))
