"""Functions of the app that are called around the runs of its handlers (R4.2)."""

from collections.abc import Callable
from typing import Any, Literal, TypeVar

Hook = Callable[..., Any]
H = TypeVar("H", bound=Hook)
When = Literal["before", "after", "on_failure", "on_dead_letter"]


class Hooks:
    """What is to be called before and after each run, on its failure, and on a dead letter.

    `around` says whether anything is called around a run at all: most apps have no hooks, and
    their runs shall not pay for them.
    """

    def __init__(self) -> None:
        self.before: list[Hook] = []
        self.after: list[Hook] = []
        self.on_failure: list[Hook] = []
        self.on_dead_letter: list[Hook] = []
        self.around = False

    def add(self, when: When, hook: H) -> H:
        """Add a hook and return it."""
        getattr(self, when).append(hook)
        self.around = self.around or when != "on_dead_letter"
        return hook
