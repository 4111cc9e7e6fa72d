"""One deal round the ring is the same as going round one turn after the other."""

from hypothesis import given
from hypothesis import strategies as st

from rota.policy.ring import Cursor, Place, deal, resume

places = st.builds(
    Place,
    tenant=st.text("abc", max_size=3),
    turn=st.integers(1, 9),
    cost=st.integers(1, 30),
    debt=st.integers(-40, 90),
)


def one_turn_at_a_time(ring: list[Place], slots: int) -> list[int]:
    """Deal by walking round, one whole turn after the other."""
    counts = [0] * len(ring)
    units = [-place.debt for place in ring]
    rounds = 0
    while True:
        for n, place in enumerate(ring):
            units[n] += place.turn if rounds else 0
            while units[n] > 0:
                counts[n] += 1
                units[n] -= place.cost
                if sum(counts) == slots:
                    return counts
        rounds += 1


@given(st.lists(places, min_size=1, max_size=6), st.integers(1, 60))
def test_a_deal_is_what_walking_round_would_give(ring: list[Place], slots: int) -> None:
    """R7.3: with debts, and with tasks that cost more than a turn."""
    assert deal(ring, slots).counts == one_turn_at_a_time(ring, slots)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 60), st.data())
def test_two_deals_are_one(turns: list[int], slots: int, data: st.DataObject) -> None:
    """R7.3: the cursor says where to go on, in the middle of a turn too."""

    def ring(first: int) -> list[Place]:
        seats = [Place(f"{n}", turn) for n, turn in enumerate(turns)]
        return seats[first:] + seats[:first]

    part = data.draw(st.integers(1, slots))
    whole = dict(zip((p.tenant for p in ring(0)), deal(ring(0), slots).counts, strict=True))
    first = deal(ring(0), part)
    got = dict(zip((p.tenant for p in ring(0)), first.counts, strict=True))
    if slots > part:
        start = int(first.end.tenant) + (0 if first.end.left else 1)
        rest = ring(start % len(turns))
        resume(rest, first.end)
        for place, count in zip(rest, deal(rest, slots - part).counts, strict=True):
            got[place.tenant] += count

    assert got == whole


def test_a_turn_that_was_not_begun_is_not_resumed() -> None:
    """R7.3: the cursor is that of another tenant, who has no tasks now."""
    ring = [Place("b", turn=3), Place("c", turn=3)]

    resume(ring, Cursor("a", left=1))

    assert deal(ring, 4).counts == [3, 1]
