"""Whose turn it is: how free slots are shared over the lanes that have work (R7.1, R7.3).

Three levels, each carried over from claim to claim, so that the shares also hold when slots come
free one at a time:

    queues      equally                     smooth weighted round robin (`Tally`)
    classes     50:30:15:5                  the same
    tenants     by weight, in ring order    deficit round robin (`Cursor`)

A worker keeps turns of its own, and nothing per tenant: the ring is the order of the tenants'
names, and the cursor says who is served and what is left of that turn. So memory and work follow
the lanes that are looked at, not the number of tenants. A claim is `looks`, then `plan` and
`settle` until the slots or the lanes are used up:

>>> turns = Turns()
>>> lanes = [Lane("sms", PriorityClass.NORMAL, tenant) for tenant in ("board", "college")]
>>> shares = plan(turns, lanes, slots=5)
>>> [(share.lane.tenant, share.count) for share in shares]
[('board', 3), ('college', 2)]
>>> [lane.tenant for lane in settle(turns, shares, taken=[3, 1])]
['college']
"""

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from math import lcm
from operator import attrgetter
from typing import Final

from msgspec import Struct

from rota.model import Lane, Look, PriorityClass, Share
from rota.policy.tally import Tally

WEIGHTS: Final[Mapping[PriorityClass, int]] = {
    PriorityClass.CRITICAL: 50,
    PriorityClass.HIGH: 30,
    PriorityClass.NORMAL: 15,
    PriorityClass.LOW: 5,
}
"""What each class gets of a saturated queue, in parts (R7.1)."""


class Cursor(Struct, frozen=True):
    """The tenant whose turn it is, and how many tasks are left of the turn; 0: it is over."""

    tenant: str
    left: int = 0


class Offer(Struct):
    """What a plan hands to one class of one queue; `settle` notes in it what came of that.

    `end` is where the cursor is afterwards, `passed` the end of the looked-at lanes if it went by.
    """

    stride: int
    lanes: int
    end: Cursor | None
    passed: Cursor | None
    taken: int = 0


class Turns:
    """The turns of one worker, carried over between its claims; they grow with its queues only."""

    def __init__(self) -> None:
        self.queues: Tally[str] = Tally()
        self.classes: dict[str, Tally[PriorityClass]] = {}
        self.cursors: dict[tuple[str, PriorityClass], Cursor] = {}
        self.offers: dict[str, dict[PriorityClass, Offer]] = {}
        self.parts: dict[tuple[str, PriorityClass], Cursor | None] = {}
        """Where the lanes of this claim are only a part of the ring, and its end once passed."""
        self.round = 0
        """The common multiple of the classes' weights, in which their strides are measured."""


def looks(turns: Turns, queues: Sequence[str]) -> list[Look]:
    """Begin a claim: return where to look for lanes, in each class of each queue.

    >>> looks(Turns(), ["sms"])[0]
    Look(queue='sms', cls=<PriorityClass.CRITICAL: 0>, after=None, inclusive=False)
    """
    # Where a part of the ring was gone round more than once, the cursor stands somewhere inside
    # it. To look from there would hold up the tenants beyond for as long as this goes on.
    turns.cursors.update((key, end) for key, end in turns.parts.items() if end is not None)
    turns.parts.clear()
    return [_look(turns, queue, cls) for queue in queues for cls in PriorityClass]


def _look(turns: Turns, queue: str, cls: PriorityClass) -> Look:
    cursor = turns.cursors.get((queue, cls))
    if cursor is None:
        return Look(queue, cls)
    return Look(queue, cls, after=cursor.tenant, inclusive=cursor.left > 0)


def _one(_tenant: str) -> int:
    return 1


def plan(
    turns: Turns,
    lanes: Sequence[Lane],
    slots: int,
    *,
    limit: int = sys.maxsize,
    weights: Mapping[PriorityClass, int] = WEIGHTS,
    tenant_weight: Callable[[str], int] = _one,
) -> list[Share]:
    """Return how many tasks to take from each lane, `slots` in all if there is any lane.

    Lanes come in the order in which they were found, at most `limit` for each look. Each is taken
    to have enough; `settle` is told what was there. Weights are whole numbers of at least 1.
    A plan that is not settled has changed nothing: the next one starts where it did.
    """
    turns.offers = {}
    if slots < 1 or not lanes:
        return []
    if turns.round != (common := lcm(*weights.values())):
        turns.round, turns.classes = common, {}
    groups = _grouped(lanes)
    of_queue = turns.queues.split(dict.fromkeys(groups, 1), slots)
    shares: list[Share] = []
    for queue, classes in groups.items():
        tally = turns.classes.setdefault(queue, Tally())
        strides = {cls: common // weights[cls] for cls in sorted(classes)}
        of_class = tally.split(strides, of_queue[queue])
        offers = turns.offers[queue] = {}
        for cls, stride in strides.items():
            found, key = classes[cls], (queue, cls)
            if len(found) >= limit:
                turns.parts.setdefault(key, None)
            offers[cls] = offer = Offer(stride, len(found), turns.cursors.get(key), None)
            if of_class[cls]:
                shares += _deal(offer, found, of_class[cls], tenant_weight)
    return shares


def _grouped(lanes: Sequence[Lane]) -> dict[str, dict[PriorityClass, list[Lane]]]:
    groups: dict[str, dict[PriorityClass, list[Lane]]] = {}
    for (queue, cls), group in groupby(lanes, key=attrgetter("queue", "cls")):
        groups.setdefault(queue, {}).setdefault(cls, []).extend(group)
    return groups


def _deal(offer: Offer, lanes: list[Lane], slots: int, weight: Callable[[str], int]) -> list[Share]:
    """Deal the slots out by turns from the offer's cursor on, and move the cursor."""
    ring = _ring(lanes, offer.end)
    turns = [weight(lane.tenant) for lane in ring]
    # An unfinished turn is dealt as a whole one of which the first part has been had already.
    resumes = offer.end is not None and offer.end.left and offer.end.tenant == ring[0].tenant
    had = max(turns[0] - offer.end.left, 0) if offer.end is not None and resumes else 0
    rounds, rest = divmod(slots + had, sum(turns))
    counts = [rounds * turn for turn in turns]
    offer.end = Cursor(ring[-1].tenant)
    last = lanes[-1]
    passed = rounds > 0
    for n, turn in enumerate(turns):
        if rest == 0:
            break
        part = min(turn, rest)
        counts[n] += part
        rest -= part
        offer.end = Cursor(ring[n].tenant, turn - part)
        passed = passed or (ring[n] is last and part == turn)
    offer.passed = Cursor(last.tenant) if passed else None
    counts[0] -= had
    return [Share(lane, count) for lane, count in zip(ring, counts, strict=True) if count]


def _ring(lanes: list[Lane], cursor: Cursor | None) -> list[Lane]:
    # A second plan in one claim gets its lanes in the order of the first one's cursor.
    ring = sorted(lanes, key=attrgetter("tenant"))
    if cursor is None:
        return ring
    bisect = bisect_left if cursor.left else bisect_right
    first = bisect(ring, cursor.tenant, key=attrgetter("tenant"))
    return ring[first:] + ring[:first]


def settle(turns: Turns, shares: Sequence[Share], taken: Sequence[int]) -> list[Lane]:
    """Take in what each share of the last plan yielded, and return the lanes that ran dry.

    A lane that gave less than was asked for is dry: the rest of its turn is forfeit. What is left
    of the slots can be planned again over the other lanes.
    """
    offers, turns.offers = turns.offers, {}
    dry = []
    for share, count in zip(shares, taken, strict=True):
        lane = share.lane
        offer = offers[lane.queue][lane.cls]
        offer.taken += count
        if count < share.count:
            dry.append(lane)
            offer.lanes -= 1
            if offer.end is not None and offer.end.tenant == lane.tenant:
                offer.end = Cursor(lane.tenant)
    for queue, classes in offers.items():
        turns.classes[queue].charge(
            (cls, offer.taken * offer.stride, offer.lanes > 0) for cls, offer in classes.items()
        )
        for cls, offer in classes.items():
            _advance(turns, (queue, cls), offer)
    turns.queues.charge(
        (queue, sum(o.taken for o in classes.values()), any(o.lanes for o in classes.values()))
        for queue, classes in offers.items()
    )
    return dry


def _advance(turns: Turns, key: tuple[str, PriorityClass], offer: Offer) -> None:
    if offer.end is not None:
        turns.cursors[key] = offer.end
    if offer.passed is not None and key in turns.parts:
        turns.parts[key] = offer.passed
