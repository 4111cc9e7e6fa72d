"""How long the verbs of a store take, and which of its errors they end in (R9.3).

A verb is timed from its call to its answer, with the wait for a line or for the writer in it: that
is what those who ask wait for. It costs two looks at the clock a verb, and nothing a task.
"""

import functools
import inspect
from bisect import bisect_left
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from rota.clock import lap
from rota.errors import (
    ClaimSuperseded,
    KeyBusy,
    SessionGone,
    StoreError,
    StoreFull,
    StoreUnavailable,
)

BOUNDS: Final = (
    0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0,
)  # fmt: skip
"""The upper bounds of the buckets in seconds; a statement is cut off after thirty."""
FAULTS: Final = ("unavailable", "full", "other")
"""The kinds of errors that are the store's own."""

_ANSWERS: Final = (SessionGone, ClaimSuperseded, KeyBusy)
"""Errors that are answers to a call: the store is well."""
_UNTIMED: Final = frozenset({"open", "close", "migrate", "listen", "follow", "announce"})
"""What begins and ends a store, and what lasts."""

S = TypeVar("S", bound=type)


class Timings:
    """What one store has taken since it was made: by verb, and errors by kind."""

    def __init__(self) -> None:
        self.verbs: dict[str, list[float]] = {}
        """Of each verb that was used the counts of the buckets, and last the sum of seconds."""
        self.errors = dict.fromkeys(FAULTS, 0)

    def add(self, verb: str, seconds: float) -> None:
        """Count a verb that took so long."""
        times = self.verbs.get(verb)
        if times is None:
            times = self.verbs[verb] = [0.0] * (len(BOUNDS) + 2)
        times[bisect_left(BOUNDS, seconds)] += 1
        times[-1] += seconds

    def failed(self, error: StoreError) -> None:
        """Count an error, unless it is an answer."""
        if isinstance(error, _ANSWERS):
            return
        kind = "unavailable" if isinstance(error, StoreUnavailable) else "other"
        self.errors["full" if isinstance(error, StoreFull) else kind] += 1


def timed(contract: type) -> Callable[[S], S]:
    """Have every verb of a contract counted in the `timings` of each store of a class."""

    def decorate(store: S) -> S:
        for name, _ in inspect.getmembers(contract, inspect.iscoroutinefunction):
            if name not in _UNTIMED and not name.startswith("_"):
                setattr(store, name, _timed(name, getattr(store, name)))
        return store

    return decorate


def _timed(name: str, verb: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(verb)
    async def run(self: Any, *args: Any, **options: Any) -> Any:
        began = lap()
        try:
            return await verb(self, *args, **options)
        except StoreError as error:
            self.timings.failed(error)
            raise
        finally:
            self.timings.add(name, lap() - began)

    return run
