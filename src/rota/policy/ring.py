"""One deal round the ring of tenants: turn after turn, each worth as much as its weight (R7.3).

Deficit round robin, worked out without walking round. A turn is worth `turn` units, a task takes
`cost` of them, and a tenant is served for as long as it has units left; what the last task took too
much is its `debt` in the turn after. Where tenants share tasks, a task takes one unit. A debt below
zero is owed to the tenant and is served before any turn begins.
"""

from bisect import bisect_left
from collections.abc import Sequence

from msgspec import Struct


class Cursor(Struct, frozen=True):
    """The tenant whose turn it is, and how many units are left of the turn; 0: it is over."""

    tenant: str
    left: int = 0


class Place(Struct, gc=False):
    """A tenant's place in the ring."""

    tenant: str
    turn: int
    cost: int = 1
    debt: int = 0

    def served(self, rounds: int) -> int:
        """Return how many tasks it has after so many rounds; after -1 it has none."""
        units = rounds * self.turn - self.debt
        return 0 if rounds < 0 or units <= 0 else -(-units // self.cost)


class Dealt(Struct):
    """How many tasks each place gets, and the units that its turns were worth.

    `end` is where the next deal begins, `rounds` how many have been gone round, and `reached` how
    many places have had their turn in the one after those.
    """

    counts: list[int]
    paid: list[int]
    end: Cursor
    rounds: int
    reached: int


def plain(ring: Sequence[Place]) -> bool:
    """Say whether all share tasks and start level, as nearly always."""
    return all(place.cost == 1 and not place.debt for place in ring)


def resume(ring: Sequence[Place], cursor: Cursor | None) -> None:
    """Begin in the middle of a turn: its first part has been had already."""
    first = ring[0]
    if cursor is not None and cursor.left and cursor.tenant == first.tenant:
        first.debt += max(first.turn - cursor.left, 0)


def deal(ring: Sequence[Place], slots: int) -> Dealt:
    """Deal out at least one slot, one turn after the other."""
    if plain(ring):
        rounds = -(-slots // sum([place.turn for place in ring])) - 1
        counts = [rounds * place.turn for place in ring]
        paid = counts.copy()
    else:
        rounds = _rounds(ring, slots)
        counts = [place.served(rounds) for place in ring]
        paid = [max(rounds, 0) * place.turn for place in ring]
    rest = slots - sum(counts)
    end, reached = Cursor(ring[-1].tenant), 0
    for n, place in enumerate(ring):
        more = place.served(rounds + 1) - counts[n]
        part = min(more, rest)
        counts[n] += part
        rest -= part
        left = 0
        if rounds >= 0:
            paid[n] += place.turn
            if part < more:
                left = paid[n] - place.debt - counts[n] * place.cost
                paid[n] -= left
        end = Cursor(place.tenant, left)
        reached = n if left else n + 1
        if rest == 0:
            break
    return Dealt(counts, paid, end, rounds, reached)


def _rounds(ring: Sequence[Place], slots: int) -> int:
    """Return how many whole rounds are dealt before the one in which the slots run out."""
    worth = sum([place.turn / place.cost for place in ring])
    debts = sum([abs(place.debt) / place.cost for place in ring])

    def dealt(rounds: int) -> int:
        return sum([place.served(rounds) for place in ring])

    most = int((slots + debts) / worth) + 2
    return bisect_left(range(-1, most + 1), slots, key=dealt) - 2
