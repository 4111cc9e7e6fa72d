"""Which tasks a person means: full ids, or the beginning of one if only one task has it."""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from rota.app import Rota
from rota.cli.problems import UsageError
from rota.clock import parse_id
from rota.errors import TaskNotFound
from rota.model import Task

SHORTEST_PREFIX = 8
BATCH = 1_000
"""So many ids are read before the tasks that they name are changed together."""
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


class Meant(NamedTuple):
    """What one word names: the full id of a task; None for none, and why where that is unclear."""

    text: str
    id: str | None = None
    unclear: str = ""


def meant(app: Rota, texts: Iterable[str]) -> Iterator[list[Meant]]:
    """Yield what the texts name, in batches; a full id is not looked up."""
    source = iter(texts)
    while batch := list(islice(source, BATCH)):
        yield [_meant(app, text) for text in batch]


def _meant(app: Rota, text: str) -> Meant:
    try:
        return Meant(text, parse_id(text) or find_task(app, text).id)
    except TaskNotFound:
        return Meant(text)
    except UsageError as error:
        return Meant(text, unclear=str(error))


def named(words: Sequence[str]) -> Iterator[str]:
    """Yield the ids among a command's arguments; `-` stands for the lines of stdin."""
    for word in words:
        if word == "-":
            yield from (line.strip() for line in sys.stdin if line.strip())
        else:
            yield word


def _dashed(digits: str) -> str:
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return "-".join(part for part in parts if part)
