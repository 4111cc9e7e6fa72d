"""Rounds: Rota and its control take turns, so that what else the machine does hits both."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")
U = TypeVar("U")


class Rounds(Struct, Generic[T, U], frozen=True):
    """What was measured: the results of each side, round by round."""

    ours: tuple[T, ...]
    control: tuple[U, ...]


def take_turns(ours: Callable[[], T], control: Callable[[], U], rounds: int) -> Rounds[T, U]:
    """Run both sides once a round, each first in every other round: A B, B A, A B, …

    A drift of the machine then favours neither.
    """
    if rounds < 1:
        raise ValueError("there must be a round")
    mine: list[T] = []
    theirs: list[U] = []
    for number in range(rounds):
        if number % 2:
            theirs.append(control())
            mine.append(ours())
        else:
            mine.append(ours())
            theirs.append(control())
    return Rounds(tuple(mine), tuple(theirs))


def flat(lists: Sequence[Sequence[T]]) -> list[T]:
    """Return the samples of all rounds as one list."""
    return [sample for samples in lists for sample in samples]
