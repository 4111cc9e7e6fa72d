"""Hosts that say they are asked too often: other calls of them wait as well (R4.2).

After several 429 or 503 in a row a host is left alone for a while, longer each time. Then one call
tries it, and the others only once that was answered otherwise. Calls that are held back spend no
attempt, and come back one after another. In memory of one process, and of bounded size.
"""

from collections import OrderedDict
from typing import Final

TOO_OFTEN: Final = frozenset({429, 503})
SEVERAL: Final = 3
"""So many in a row slow a host down; one alone may be about that very call."""
FORGOTTEN_SECONDS: Final = 60.0
"""What is further apart is not in a row."""
FIRST_SECONDS: Final = 2.0
LONGEST_SECONDS: Final = 60.0
ASKED_MOST: Final = 3600.0
"""No host keeps itself free for longer by `Retry-After`."""
TRYING_SECONDS: Final = 30.0
"""After so long without an answer of the call that tries, another one may."""
STEP_SECONDS: Final = 0.1
SPREAD_MOST: Final = 30.0
"""Calls that are held back come back a step apart, over so long at most."""
HOSTS_MOST: Final = 1_000
"""So many hosts are remembered; the one that was quiet the longest is forgotten."""


class _Host:
    """A host that refused lately: how often in a row, and since that was several, until when."""

    __slots__ = ("held", "last", "refusals", "rounds", "trying", "until")

    def __init__(self) -> None:
        self.refusals = 0
        self.last = 0.0
        self.rounds = 0
        self.until = 0.0
        self.trying = False
        self.held = 0

    def slow_down(self, least: float, now: float) -> None:
        self.rounds += 1
        usual = min(FIRST_SECONDS * 2.0 ** min(self.rounds - 1, 30), LONGEST_SECONDS)
        self.until = now + max(usual, least)
        self.trying = False
        self.held = 0


class Slowed:
    """What is known of hosts that refuse; instants are seconds that only grow."""

    def __init__(self, most: int = HOSTS_MOST) -> None:
        self._most = most
        self._hosts: OrderedDict[str, _Host] = OrderedDict()

    def __len__(self) -> int:
        return len(self._hosts)

    def wait(self, host: str, now: float) -> float:
        """Return for how many seconds a call of a host is held back; 0 if it may go."""
        known = self._hosts.get(host)
        if known is None or not known.rounds:
            return 0.0
        if now >= known.until:
            # This one tries, and the others wait for what it finds.
            known.trying, known.until, known.held = True, now + TRYING_SECONDS, 0
            return 0.0
        known.held += 1
        return known.until - now + min(known.held * STEP_SECONDS, SPREAD_MOST)

    def told(self, host: str, status: int, retry_after: float | None, now: float) -> None:
        """Take note of what a host answered, and of how long it wants to be left alone."""
        known = self._hosts.get(host)
        if status not in TOO_OFTEN:
            # While nobody tries, it answers what was sent before: that says nothing of now.
            if known is not None and (known.trying or not known.rounds):
                del self._hosts[host]
            return
        known = known or self._new(host)
        self._hosts.move_to_end(host)
        least = min(retry_after or 0.0, ASKED_MOST)
        if known.rounds and not known.trying:
            known.until = max(known.until, now + least)
            return
        in_a_row = now - known.last <= FORGOTTEN_SECONDS
        known.refusals = known.refusals + 1 if in_a_row else 1
        known.last = now
        if known.trying or known.refusals >= SEVERAL:
            known.slow_down(least, now)

    def _new(self, host: str) -> _Host:
        if len(self._hosts) >= self._most:
            self._hosts.popitem(last=False)
        made = self._hosts[host] = _Host()
        return made
