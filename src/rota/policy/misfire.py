"""Misfires: which slots may still run when nobody was there to fire them in time (R6.5)."""

from bisect import bisect_left
from collections.abc import Sequence

from rota.config import CATCH_UP_MOST
from rota.model import Micros
from rota.schedule import Missed, Policy


def choose(policy: Policy, slots: Sequence[Micros], until: Micros) -> Sequence[Micros]:
    """Return those of the due slots, in order, that may run by `until`.

    Slots within the grace time all run: a busy second is no outage (B089). Of more than
    `CATCH_UP_MOST` such the older ones count as missed, so that a plan stays small.
    """
    first = bisect_left(slots, until - policy.grace)
    first = max(first, len(slots) - CATCH_UP_MOST)
    missed, on_time = slots[:first], slots[first:]
    if not missed:
        return on_time
    if policy.missed is Missed.SKIP:
        return on_time
    oldest = until - policy.max_age
    if policy.missed is Missed.RUN_ONCE:
        return [slot for slot in slots[-1:] if slot >= oldest]
    young = missed[bisect_left(missed, oldest) :]
    return [*young[max(len(young) - policy.max_catchup, 0) :], *on_time]


def enough(policy: Policy, every: Micros) -> int:
    """Return how many of the newest slots matter to `choose` if they are so far apart.

    One that was missed is among them: it tells an outage from a hiccup.
    """
    on_time = min(policy.grace // every + 1, CATCH_UP_MOST)
    return 1 + on_time + (policy.max_catchup if policy.missed is Missed.RUN_ALL else 0)
