"""The part of a store's contract that is about how it is doing."""

from typing import Protocol

from rota.config import MINUTE, SECOND
from rota.diagnosis import StoreFacts
from rota.model import Micros

CAP = 10_000
"""Whatever is counted is counted up to this."""
QUEUES_MOST = 200
SAMPLE = 1_000
"""So many waiting tasks of each queue are looked at."""
FEW = 50
"""Of what has to be named, so many are."""
OPEN_LONG = 30 * SECOND
"""A transaction that is open for longer than this is told of."""
LATE = 10 * SECOND
"""A schedule that is not fired for so long is late (R9.4)."""
RECENT = 60 * MINUTE


class Diagnosis(Protocol):
    """What a store says of itself."""

    async def diagnose(self, now: Micros) -> StoreFacts:
        """Return what there is to see; cheap, whatever the backlog: counts end at `CAP`."""
        ...
