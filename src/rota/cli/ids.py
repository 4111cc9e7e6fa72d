"""Which tasks a person means: full ids, or the beginning of one if only one task has it."""

import re
import sys
from collections.abc import Iterator, Sequence

from rota.app import Rota
from rota.cli.problems import UsageError
from rota.clock import parse_id
from rota.errors import TaskNotFound
from rota.model import Task

SHORTEST_PREFIX = 8
_HEX = re.compile(r"[0-9a-f]{1,31}")


def find_task(app: Rota, text: str) -> Task:
    """Return the task that an id or a unique beginning of one names.

    `TaskNotFound` if there is none, `UsageError` if the beginning is short or fits several.
    """
    known = parse_id(text)
    if known is not None:
        return app.tasks.get(known)
    # Tables cut ids with an ellipsis; whoever copies one copies that too.
    digits = text.strip().removesuffix("…").replace("-", "").lower()
    if not _HEX.fullmatch(digits):
        raise TaskNotFound(text)
    if len(digits) < SHORTEST_PREFIX:
        raise UsageError(f"{text!r} is too short for an id; give {SHORTEST_PREFIX} digits or more")
    found = app.tasks.list(id_prefix=_dashed(digits), limit=2)
    if not found:
        raise TaskNotFound(text)
    if len(found) > 1:
        raise UsageError(f"several tasks begin with {text!r}; give more of the id")
    return found[0]


def full_id(app: Rota, text: str) -> str:
    """Return the id that a text names, in full; a full id is not looked up."""
    return parse_id(text) or find_task(app, text).id


def named(words: Sequence[str]) -> Iterator[str]:
    """Yield the ids among a command's arguments; `-` stands for the lines of stdin."""
    for word in words:
        if word == "-":
            yield from (line.strip() for line in sys.stdin if line.strip())
        else:
            yield word


def check_words(words: Sequence[str], command: str) -> None:
    """Refuse what is no id before anything is changed."""
    if not words:
        raise UsageError(f"name at least one task. See: rota {command} --help")
    for word in words:
        # The parser passes `-` on only together with all that looks like an option.
        if word.startswith("-") and word != "-":
            raise UsageError(f"unknown option: {word}. See: rota {command} --help")


def _dashed(digits: str) -> str:
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return "-".join(part for part in parts if part)
