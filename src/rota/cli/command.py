"""A command, as the table of all commands has it."""

from typing import NamedTuple


class Command(NamedTuple):
    """A command: where it is written, how it is called, and what it does in a sentence."""

    path: str
    usage: str
    summary: str
