"""Overlap: which slots run while earlier runs of the schedule are not over (R6.6)."""

from collections.abc import Sequence

from rota.model import Micros
from rota.schedule import Overlap, Policy


def choose(policy: Policy, slots: Sequence[Micros], live: int) -> Sequence[Micros]:
    """Return those of the slots, in order, that run while `live` tasks are not over.

    Each that runs is one more that the later ones meet. The last of them replaces what is not over
    where the policy says so.
    """
    if policy.overlap is Overlap.ALLOW:
        return slots
    if policy.overlap is Overlap.CANCEL_PREVIOUS:
        return slots[-1:]
    return slots[: max(_most(policy) - live, 0)]


def _most(policy: Policy) -> int:
    """Return how many tasks of the schedule there may be that are not over."""
    if policy.overlap is Overlap.QUEUE:
        return 1 + policy.max_pending
    return 2 if policy.overlap is Overlap.COALESCE else 1
