"""What a worker remembers of whose turn it was, from one claim to the next (R7.1, R7.3)."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field

from rota.config import MINUTE
from rota.model import Lane, Look, Micros, PriorityClass
from rota.policy.costs import LANES, Costs, Table
from rota.policy.limits import Rooms
from rota.policy.ring import Cursor, Dealt, Place
from rota.policy.tally import Tally
from rota.shares import Weights

QUEUES: Final = 1_000
"""The turns of so many queues are carried over."""
OWED: Final = 10
"""No tenant is owed more than so many turns."""
DEBT_MOST: Final[Micros] = 10 * MINUTE
"""No tenant has to make good for more of the workers' time than this."""


class Offer(Struct):
    """What a plan hands to one class of one queue, and what became of that.

    `lanes` counts those that have more, and `last` is the tenant of the last one that was looked
    at. `forfeit` has the tenants that did not use their turns.
    """

    stride: int
    lanes: int
    ring: list[Place] = []
    dealt: Dealt | None = None
    last: str = ""
    taken: int = 0
    spent: dict[str, int] = field(default_factory=dict)
    forfeit: set[str] = field(default_factory=set)


class Part(Struct):
    """What a plan hands to one queue; `held` says that its limit is what it waits for."""

    limit: str | None
    by_time: bool
    offers: dict[PriorityClass, Offer]
    held: bool = False


class Classes(Struct):
    """What the classes of a queue have had, under which weights, and what its turns are worth."""

    weights: Weights
    by_time: bool
    tally: Tally[PriorityClass] = field(default_factory=Tally)


class Turns:
    """The turns of one worker, carried over between its claims; bounded whatever there is."""

    def __init__(self) -> None:
        self.queues: Tally[str] = Tally()
        self.classes: Table[str, Classes] = Table(QUEUES)
        self.cursors: Table[tuple[str, PriorityClass], Cursor] = Table(4 * QUEUES)
        self.debts: Table[Lane, int] = Table(LANES)
        self.credits: Table[Lane, int] = Table(LANES)
        """Among lanes that wait for one limit of their tenant, who is owed how much of it."""
        self.costs = Costs()
        self.rooms = Rooms()
        self.planned: dict[str, Part] = {}
        self.parts: dict[tuple[str, PriorityClass], Cursor | None] = {}
        """Where the lanes of this claim are only a part of the ring, and its end once passed."""


def looks(turns: Turns, queues: Sequence[str]) -> list[Look]:
    """Begin a claim: return where to look for lanes, in each class of each queue.

    >>> looks(Turns(), ["sms"])[0]
    Look(queue='sms', cls=<PriorityClass.CRITICAL: 0>, after=None, inclusive=False)
    """
    # Where a part of the ring was gone round more than once, the cursor stands somewhere inside
    # it. To look from there would hold up the tenants beyond for as long as this goes on.
    for key, end in turns.parts.items():
        if end is not None:
            turns.cursors[key] = end
    turns.parts.clear()
    turns.rooms.begin()
    return [_look(turns, queue, cls) for queue in queues for cls in PriorityClass]


def _look(turns: Turns, queue: str, cls: PriorityClass) -> Look:
    cursor = turns.cursors.get((queue, cls))
    if cursor is None:
        return Look(queue, cls)
    return Look(queue, cls, after=cursor.tenant, inclusive=cursor.left > 0)


def found(turns: Turns, lanes: Sequence[Lane], limit: int) -> None:
    """Note which looks found as many lanes as they may, which are only a part of the ring then."""
    counts = Counter((lane.queue, lane.cls) for lane in lanes)
    for key, count in counts.items():
        if count >= limit:
            turns.parts.setdefault(key, None)


def classes_of(turns: Turns, queue: str, weights: Weights, by_time: bool) -> Tally[PriorityClass]:
    """Return what the classes of a queue have had; under new terms they start level."""
    known = turns.classes.get(queue)
    if known is None or known.weights != weights or known.by_time != by_time:
        if known is not None and known.by_time != by_time:
            _forget_units(turns, queue)
        turns.classes[queue] = known = Classes(weights, by_time)
    return known.tally


def _forget_units(turns: Turns, queue: str) -> None:
    # What was had so far is measured in units that are worth something else now.
    for lane in [lane for lane in turns.debts if lane.queue == queue]:
        del turns.debts[lane]
    for cls in PriorityClass:
        if (cursor := turns.cursors.get((queue, cls))) is not None:
            turns.cursors[queue, cls] = Cursor(cursor.tenant)


def move_on(turns: Turns, lane: Lane) -> None:
    """Let the next claim look from behind this lane, whoever is before it."""
    turns.cursors[lane.queue, lane.cls] = Cursor(lane.tenant)


def owe(turns: Turns, lane: Lane, debt: int) -> None:
    """Note what a tenant has had too much, or is owed."""
    if debt:
        turns.debts[lane] = debt
    else:
        turns.debts.pop(lane, None)


def correct(turns: Turns, lane: Lane, more: int) -> None:
    """Charge a tenant what a run took beyond what it was charged, or give that back."""
    debt = turns.debts.get(lane, 0) + more
    owe(turns, lane, max(min(debt, DEBT_MOST), -DEBT_MOST))
