"""Jitter: the runs of schedules that share an instant are spread after it (R6.7)."""

from hashlib import blake2b

from rota.model import Micros


def offset(schedule_id: str, jitter: Micros) -> Micros:
    """Return how long after its slots a schedule starts: always the same, less than `jitter`.

    >>> offset("0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44", 0)
    0
    """
    if jitter <= 0:
        return 0
    digest = blake2b(schedule_id.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % jitter
