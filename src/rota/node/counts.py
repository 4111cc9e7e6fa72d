"""What a worker did since its start."""

from dataclasses import dataclass


@dataclass
class Counts:
    """Figures for the log, the tests and whoever watches.

    `refused` counts reports that came with an old fence (R3.2), `lost` the tasks that were held
    when a lease was lost.
    """

    claimed: int = 0
    reported: int = 0
    refused: int = 0
    lost: int = 0
    sessions: int = 0
