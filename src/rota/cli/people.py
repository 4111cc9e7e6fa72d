"""Whether there is a person who can be asked: somebody at a terminal who does not mind."""

import sys
from contextvars import ContextVar
from typing import TextIO

_MINDS: ContextVar[bool] = ContextVar("minds", default=False)


def mind(minds: bool) -> None:
    """Say whether nobody is to be asked anything, whatever the terminal: `--no-input`."""
    _MINDS.set(minds)


def types(answers: TextIO | None = None) -> bool:
    """Say whether somebody sits there who may be expected to type."""
    return not _MINDS.get() and (answers or sys.stdin).isatty()


def can_answer(answers: TextIO | None = None) -> bool:
    """Say whether a question would be seen, and an answer may come."""
    return types(answers) and sys.stderr.isatty()
