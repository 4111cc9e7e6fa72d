"""Sharing slots among a few by weight, carried over from one time to the next (R7.1).

Smooth weighted round robin, kept as virtual times: a sharer's tag moves on by its stride for each
slot that it has had, a stride being the shorter the larger the weight, and the lowest tag is next.
`floor` is how far everyone has come who still waits for more. Who comes back starts there at the
earliest, so being away earns no credit; and going away does not wipe out what was had.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K")


class Tally(Generic[K]):
    """What each of a few sharers has had; it grows with the sharers, not with the slots.

    >>> tally: Tally[str] = Tally()
    >>> tally.split({"heavy": 1, "light": 3}, slots=4)
    {'heavy': 3, 'light': 1}
    """

    def __init__(self) -> None:
        self._tags: dict[K, int] = {}
        self._floor = 0

    def split(self, strides: Mapping[K, int], slots: int) -> dict[K, int]:
        """Return how many slots each gets, as if they went one by one to the lowest tag.

        Of equals the earlier one in `strides` comes first. Nothing is charged yet.
        """
        starts = [(self.tag(key), stride) for key, stride in strides.items()]
        lowest, stride = min(starts)

        def below(tag: int) -> int:
            return sum([-((start - tag) // stride) for start, stride in starts if start < tag])

        # The highest tag below which no more than `slots` lie: all of those are given, and of the
        # ones that lie exactly at it as many as there are slots left.
        tags = range(lowest, lowest + slots * stride + 2)
        tag = tags[bisect_right(tags, slots, key=below) - 1]
        rest = slots - below(tag)
        shares = {}
        for key, (start, stride) in zip(strides, starts, strict=True):
            shares[key] = max(-((start - tag) // stride), 0)
            if rest and start <= tag and (tag - start) % stride == 0:
                shares[key] += 1
                rest -= 1
        return shares

    def charge(self, sharers: Iterable[tuple[K, int, bool]]) -> None:
        """Take in what was had: of each sharer its slots times its stride, and whether it waits."""
        waiting: list[int] = []
        gone: list[int] = []
        for key, had, waits in sharers:
            self._tags[key] = self.tag(key) + had
            (waiting if waits else gone).append(self._tags[key])
        # When nobody waits, nobody is owed anything: they start level next time.
        self._floor = min(waiting) if waiting else max(gone, default=self._floor)

    def keep(self, most: int) -> None:
        """Forget who has had no more than everyone, as soon as there are more than `most`."""
        if len(self._tags) > most:
            self._tags = {key: tag for key, tag in self._tags.items() if tag > self._floor}

    def tag(self, key: K) -> int:
        """Return how far a sharer has come; the lowest is next."""
        return max(self._tags.get(key, 0), self._floor)
