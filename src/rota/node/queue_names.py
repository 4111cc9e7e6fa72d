"""Which pool of a worker takes which queues, as `--queue` says: `sms=50`, `mail.*`, `!bulk`."""

import re
from collections.abc import Sequence

from msgspec import Struct

from rota.config import NAME_PATTERN
from rota.errors import ConfigurationError
from rota.policy import patterns

SLOTS_MOST = 100_000

_NAME = re.compile(NAME_PATTERN)
_PATTERN = re.compile(r"[A-Za-z0-9._*-]{1,128}")
_SLOTS = re.compile(r"[0-9]{1,6}")


class QueuePool(Struct, frozen=True):
    """Slots for the tasks of some queues: names and patterns."""

    words: tuple[str, ...]
    slots: int


class QueuePlan:
    """The pools of a worker; each queue belongs to one of them, or to none (R7.6).

    A name goes before patterns, and of two patterns that fit the one with more letters goes first.
    """

    def __init__(self, pools: Sequence[QueuePool], exclusions: Sequence[str] = ()) -> None:
        self.pools = tuple(pools)
        self._exclusions = tuple(exclusions)
        words = [(word, at) for at, pool in enumerate(self.pools) for word in pool.words]
        self._names = {word: at for word, at in words if not patterns.is_pattern(word)}
        fitting = [one for one in words if patterns.is_pattern(one[0])]
        self._patterns = sorted(fitting, key=lambda one: -len(one[0].replace(patterns.ANY, "")))

    def __str__(self) -> str:
        shown = [f"{', '.join(pool.words)} ({pool.slots} at once)" for pool in self.pools]
        return ", ".join([*shown, *self._exclusions])

    @property
    def words(self) -> tuple[str, ...]:
        """What a session shows as its queues."""
        return tuple(word for pool in self.pools for word in pool.words) + self._exclusions

    @property
    def slots(self) -> int:
        """How many slots the pools have together."""
        return sum(pool.slots for pool in self.pools)

    def names(self, pool: int) -> tuple[str, ...]:
        """Return the queues that a pool takes by name."""
        return tuple(name for name, at in self._names.items() if at == pool)

    def has_patterns(self, pool: int) -> bool:
        """Say whether a pool may take queues that nobody has named."""
        return any(at == pool for _, at in self._patterns)

    def pool_of(self, queue: str) -> int | None:
        """Return which pool takes a queue; None if none does."""
        if (named := self._names.get(queue)) is not None:
            return named
        if patterns.excluded(self._exclusions, queue):
            return None
        fits = (at for pattern, at in self._patterns if patterns.matches(pattern, queue))
        return next(fits, None)


def plan_queues(words: Sequence[str], concurrency: int) -> QueuePlan:
    """Return the pools that the words of `--queue` ask for.

    Those without a number share a pool with `concurrency` slots. `ConfigurationError` says which
    word cannot be.
    """
    own: list[QueuePool] = []
    shared: list[str] = []
    exclusions: list[str] = []
    for word in words:
        if word.startswith(patterns.EXCEPT):
            exclusions.append(_exclusion(word))
        elif "=" in word:
            own.append(_pool(word))
        else:
            shared.append(_queue(word, word))
    named = [*shared, *(word for pool in own for word in pool.words)]
    _check_twice([*named, *exclusions])
    if exclusions and not any(patterns.is_pattern(word) for word in named):
        if shared:
            raise ConfigurationError(
                f"queue {exclusions[0]}: there is nothing to take it away from but the names "
                f"{', '.join(shared)}; leave it out, or name a pattern such as '*'"
            )
        shared.append(patterns.ANY)
    # The shared pool comes first: `rota worker --queue a --queue b=5` starts with `a` in lists.
    pools = [QueuePool(tuple(shared), concurrency)] if shared else []
    return QueuePlan([*pools, *own], exclusions)


def _pool(word: str) -> QueuePool:
    name, _, number = word.partition("=")
    _queue(name, word)
    if not _SLOTS.fullmatch(number) or not 1 <= int(number) <= SLOTS_MOST:
        raise ConfigurationError(
            f"queue {word}: after the '=' comes how many of its tasks run at once, a whole number "
            f"from 1 to {SLOTS_MOST:,}, not {number!r}"
        )
    return QueuePool((name,), int(number))


def _exclusion(word: str) -> str:
    if "=" in word:
        raise ConfigurationError(f"queue {word}: what is not taken has no slots; leave out the '='")
    _queue(word[1:], word)
    return word


def _queue(name: str, word: str) -> str:
    if not (_PATTERN if patterns.is_pattern(name) else _NAME).fullmatch(name):
        raise ConfigurationError(
            f"queue {word}: {name!r} is neither a queue's name (letters, digits, '.', '_' and '-') "
            "nor a pattern with '*', such as 'mail.*'"
        )
    return name


def _check_twice(words: Sequence[str]) -> None:
    seen: set[str] = set()
    for word in words:
        if word in seen:
            raise ConfigurationError(f"queue {word}: it is given twice; leave one of them out")
        if word.removeprefix(patterns.EXCEPT) in seen:
            raise ConfigurationError(f"queue {word}: it is taken as well; leave one of them out")
        seen.add(word)
