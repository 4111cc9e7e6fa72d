"""Whose turn it is: how free slots are shared over the lanes that have work (R7.1, R7.3).

Three levels, each carried over from claim to claim, so that the shares also hold when slots come
free one at a time:

    queues      equally                        smooth weighted round robin (`Tally`)
    classes     by weight, 50:30:15:5          the same
    tenants     by weight, in ring order       deficit round robin (`ring.deal`)

A worker keeps turns of its own. The ring is the order of the tenants' names, and a cursor says who
is served and what is left of that turn; so memory and work follow the lanes that are looked at, not
the number of tenants. Only what a tenant had too much or is owed (where turns are measured in time,
or a limit cut a deal short) is kept by lane, in a bounded table.

A claim is `looks`, then `plan` and `settle` until the slots or the lanes are used up:

>>> turns = Turns()
>>> lanes = [Lane("sms", PriorityClass.NORMAL, tenant) for tenant in ("board", "college")]
>>> shares = plan(turns, lanes, slots=5)
>>> [(share.lane.tenant, share.count) for share in shares]
[('board', 3), ('college', 2)]
>>> [lane.tenant for lane in settle(turns, shares, taken=[3, 1])]
['college']
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from math import lcm
from operator import attrgetter
from typing import Final

from msgspec import structs

from rota.model import Lane, PriorityClass, Share
from rota.policy.ring import Cursor, Dealt, Place, deal, plain, resume
from rota.policy.terms import Terms
from rota.policy.turns import (
    DEBT_MOST,
    OWED,
    QUEUES,
    Offer,
    Part,
    Turns,
    classes_of,
    looks,
    move_on,
    owe,
)
from rota.shares import Settings

__all__ = ["DEFAULTS", "Turns", "looks", "move_on", "plan", "settle"]

DEFAULTS: Final = Terms(Settings())


def plan(
    turns: Turns,
    lanes: Sequence[Lane],
    slots: int,
    *,
    spare: int = 0,
    terms: Terms = DEFAULTS,
) -> list[Share]:
    """Return how many tasks to take from each lane, `slots` in all if there is any lane.

    Lanes come in the order in which they were found. Each is taken to have enough; `settle` is told
    what was there. Lanes under limits get fewer: `spare` of the slots are not for them, and of a
    limit no more is asked than it is likely to let through. The shares come in the order in which
    they are to be served. A plan that is not settled has changed nothing: the next one starts where
    it did.
    """
    turns.planned = {}
    if slots < 1 or not lanes:
        return []
    groups = _grouped(lanes)
    budget = max(slots - spare, 0)
    of_queue = _split(turns, groups, slots, budget, terms)
    shares: list[Share] = []
    for queue in sorted(groups, key=turns.queues.tag):
        shares += _share_out(turns, groups[queue], of_queue[queue], terms)
    return _within(turns, shares, budget) if terms.limited else shares


def _grouped(lanes: Sequence[Lane]) -> dict[str, dict[PriorityClass, list[Lane]]]:
    groups: dict[str, dict[PriorityClass, list[Lane]]] = {}
    for (queue, cls), group in groupby(lanes, key=attrgetter("queue", "cls")):
        groups.setdefault(queue, {}).setdefault(cls, []).extend(group)
    return groups


def _split(
    turns: Turns, queues: Collection[str], slots: int, budget: int, terms: Terms
) -> dict[str, int]:
    """Share the slots out over the queues; what one may not have for its limit others get."""
    of_queue: dict[str, int] = {}
    turns.planned = {
        queue: Part(terms.of_queue(queue), terms.by_time(queue), {}) for queue in queues
    }
    open_to = dict.fromkeys(queues, 1)
    while open_to:
        split = turns.queues.split(open_to, slots)
        over = {
            queue: most
            for queue, count in split.items()
            if (limit := turns.planned[queue].limit) is not None
            and (most := min(turns.rooms.ask((limit,)), budget)) < count
        }
        of_queue |= over or split
        slots -= sum(over.values())
        for queue in over:
            turns.planned[queue].held = True
        open_to = {queue: 1 for queue in open_to if queue not in of_queue}
    return of_queue


def _share_out(
    turns: Turns,
    classes: Mapping[PriorityClass, list[Lane]],
    slots: int,
    terms: Terms,
) -> list[Share]:
    """Return the shares of one queue's lanes, the class that had least for its weight first."""
    queue = next(iter(classes.values()))[0].queue
    weights = terms.weights(queue)
    tally = classes_of(turns, queue, weights, terms.by_time(queue))
    common = lcm(*(weights.of(cls) for cls in PriorityClass))
    strides = {cls: common // weights.of(cls) for cls in sorted(classes)}
    of_class = tally.split(strides, slots)
    part = turns.planned[queue]
    shares: list[Share] = []
    for cls in sorted(strides, key=tally.tag):
        found = classes[cls]
        part.offers[cls] = offer = Offer(strides[cls], len(found))
        if of_class[cls]:
            places = _seat(turns, offer, found, terms)
            offer.dealt = deal(offer.ring, of_class[cls])
            dealt = [
                Share(lane, count, terms.limits(lane))
                for lane, count in zip(places, offer.dealt.counts, strict=True)
                if count
            ]
            if part.limit is not None:
                # Its limit may let less through than is planned: first those who are owed.
                dealt.sort(key=lambda share: turns.debts.get(share.lane, 0))
            shares += dealt
    return shares


def _seat(turns: Turns, offer: Offer, lanes: list[Lane], terms: Terms) -> list[Lane]:
    """Set up the ring from the cursor on, and return the lanes in its order."""
    queue, cls = lanes[0].queue, lanes[0].cls
    cursor = turns.cursors.get((queue, cls))
    offer.last = lanes[-1].tenant
    ring = _ring(lanes, cursor)
    by_time = terms.by_time(queue)
    costs = [turns.costs.of(lane) for lane in ring] if by_time else [1] * len(ring)
    # A turn is worth as much as the cheapest tasks take, so that all others wait the least.
    unit = min(costs)
    offer.ring = [
        Place(lane.tenant, terms.weight(lane.tenant) * unit, cost, turns.debts.get(lane, 0))
        for lane, cost in zip(ring, costs, strict=True)
    ]
    resume(offer.ring, cursor)
    return ring


def _ring(lanes: list[Lane], cursor: Cursor | None) -> list[Lane]:
    # A second plan in one claim gets its lanes in the order of the first one's cursor.
    ring = sorted(lanes, key=attrgetter("tenant"))
    if cursor is None:
        return ring
    bisect = bisect_left if cursor.left else bisect_right
    first = bisect(ring, cursor.tenant, key=attrgetter("tenant"))
    return ring[first:] + ring[:first]


def _within(turns: Turns, shares: list[Share], budget: int) -> list[Share]:
    """Cut the shares down to what is likely to be let through."""
    kept = []
    for share in sorted(shares, key=lambda share: -turns.credits.get(share.lane, 0)):
        if not share.limits:
            kept.append(share)
            continue
        lane = share.lane
        part = turns.planned[lane.queue]
        own = turns.rooms.ask(limit for limit in share.limits if limit != part.limit)
        if own < share.count:
            part.offers[lane.cls].forfeit.add(lane.tenant)
        count = min(share.count, own, budget)
        part.held = part.held or (part.limit is not None and count < min(share.count, own))
        budget -= count
        if count:
            kept.append(structs.replace(share, count=count))
    return kept


def settle(
    turns: Turns,
    shares: Sequence[Share],
    taken: Sequence[int],
    *,
    spent: Sequence[int] = (),
    blocked: Collection[str] = (),
) -> list[Lane]:
    """Take in what each share of the last plan yielded, and return the lanes that ran dry.

    A lane that gave less than was asked for is dry: the rest of its turn is forfeit. What is left
    of the slots can be planned again over the other lanes. `spent` says what was yielded in the
    units of the queue, where those are not tasks. Of the limits in `blocked` one that a whole queue
    falls under makes none of its lanes forfeit anything: the deal is made again over what it let
    through, and who had more or less than that stands in the debts.
    """
    planned, turns.planned = turns.planned, {}
    dry = []
    for share, count, units in zip(shares, taken, spent or taken, strict=True):
        lane = share.lane
        part = planned[lane.queue]
        offer = part.offers[lane.cls]
        offer.taken += count
        offer.spent[lane.tenant] = units
        if count < share.count:
            dry.append(lane)
            if part.limit is not None and part.limit in blocked:
                part.held = True
            else:
                offer.lanes -= 1
                offer.forfeit.add(lane.tenant)
    _credit(turns, shares, taken, set(blocked) - {part.limit for part in planned.values()})
    for queue, part in planned.items():
        turns.classes[queue].tally.charge(
            (cls, offer.taken * offer.stride, offer.lanes > 0) for cls, offer in part.offers.items()
        )
        for cls, offer in part.offers.items():
            if offer.dealt is not None:
                _advance(turns, (queue, cls), offer, _made_again(part, offer, offer.dealt))
    turns.queues.charge(
        (queue, sum(o.taken for o in part.offers.values()), _waits(part))
        for queue, part in planned.items()
    )
    turns.queues.keep(QUEUES)
    return dry


def _credit(
    turns: Turns, shares: Sequence[Share], taken: Sequence[int], blocked: Collection[str]
) -> None:
    """Among the lanes that wait for a limit of their tenant, note whose turn is next.

    Smooth weighted round robin by class: otherwise the highest would have all that it lets through.
    """
    for limit in blocked:
        under = [pair for pair in zip(shares, taken, strict=True) if limit in pair[0].limits]
        weights = [turns.classes[s.lane.queue].weights.of(s.lane.cls) for s, _ in under]
        total, got = sum(weights), sum(count for _, count in under)
        for (share, count), weight in zip(under, weights, strict=True):
            credit = turns.credits.get(share.lane, 0) + weight * got - total * count
            turns.credits[share.lane] = credit


def _waits(part: Part) -> bool:
    """Say whether a queue waits for slots; one that waits for its limit earns no credit by it."""
    return not part.held and any(offer.lanes for offer in part.offers.values())


def _made_again(part: Part, offer: Offer, dealt: Dealt) -> Dealt | None:
    """Return the deal as it would have been over what was really let through."""
    if not part.held or offer.taken == sum(dealt.counts):
        return dealt
    return deal(offer.ring, offer.taken) if offer.taken else None


def _advance(
    turns: Turns, key: tuple[str, PriorityClass], offer: Offer, dealt: Dealt | None
) -> None:
    if dealt is None:
        return
    end = dealt.end
    turns.cursors[key] = Cursor(end.tenant) if end.tenant in offer.forfeit else end
    if key in turns.parts and _passed(offer, dealt):
        turns.parts[key] = Cursor(offer.last)
    if dealt is offer.dealt and plain(offer.ring):
        return  # each had what it was dealt, or forfeits the rest
    for place, paid in zip(offer.ring, dealt.paid, strict=True):
        debt = min(place.debt + offer.spent.get(place.tenant, 0) - paid, DEBT_MOST)
        most = 0 if place.tenant in offer.forfeit else OWED * max(place.turn, place.cost)
        owe(turns, Lane(*key, place.tenant), max(debt, -most))


def _passed(offer: Offer, dealt: Dealt) -> bool:
    """Say whether the deal has come to the end of the looked-at lanes."""
    if dealt.rounds:
        return dealt.rounds > 0
    reached = offer.ring[: dealt.reached]
    return any(place.tenant == offer.last for place in reached)
