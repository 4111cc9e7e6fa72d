"""Whose turn it is: queues, classes and tenants, whatever number of slots comes free at a time."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.model import Lane, PriorityClass
from rota.policy.fairness import DEFAULTS, Turns, plan, settle
from rota.policy.turns import QUEUES
from tests.policy.backlog import Backlog, classed, lane, weighted

CRITICAL, HIGH, NORMAL, LOW = PriorityClass
PLENTY = 1_000_000


def by_class(got: Counter[Lane]) -> list[int]:
    counts = Counter[PriorityClass]()
    for where, count in got.items():
        counts[where.cls] += count
    return [counts[cls] for cls in PriorityClass]


def jain(counts: list[int]) -> float:
    """Jain's index of fairness: 1 when all have the same, 1/n when one has everything."""
    return sum(counts) ** 2 / (len(counts) * sum(n * n for n in counts))


class TestClasses:
    @pytest.mark.parametrize(("slots", "claims"), [(1, 1000), (7, 1000), (50, 20), (100, 10)])
    def test_a_saturated_queue_is_shared_exactly_by_weight(self, slots: int, claims: int) -> None:
        """R7.1: 50:30:15:5 over every hundred slots."""
        turns, backlog = Turns(), Backlog({lane(cls=cls): PLENTY for cls in PriorityClass})
        served = Counter[Lane]()
        for _ in range(claims):
            served += backlog.claim(turns, slots)
            rounds, part = divmod(served.total(), 100)
            if part == 0:
                assert by_class(served) == [50 * rounds, 30 * rounds, 15 * rounds, 5 * rounds]

    @given(st.lists(st.integers(1, 60), min_size=10, max_size=30))
    def test_low_priority_never_starves(self, sizes: list[int]) -> None:
        """R7.1: one in twenty, at every moment, however many tenants are critical."""
        busy = {lane(f"t{n}", cls): PLENTY for n in range(40) for cls in (CRITICAL, HIGH, NORMAL)}
        turns, backlog = Turns(), Backlog(busy | {lane("quiet", LOW): PLENTY})
        served = Counter[Lane]()
        for slots in sizes:
            served += backlog.claim(turns, slots)

            assert abs(by_class(served)[LOW] - served.total() / 20) <= 1

    def test_a_class_without_tasks_leaves_its_share_to_the_others(self) -> None:
        """R7.1"""
        turns, backlog = Turns(), Backlog({lane(cls=HIGH): PLENTY, lane(cls=LOW): PLENTY})

        assert by_class(backlog.claim(turns, 70)) == [0, 60, 0, 10]

    def test_a_critical_task_is_among_the_next_to_be_taken(self) -> None:
        """R7.1: a one-time password after a night of normal work."""
        turns, backlog = Turns(), Backlog({lane(cls=NORMAL): PLENTY, lane(cls=LOW): PLENTY})
        for _ in range(999):
            backlog.claim(turns, 1)
        backlog.add(lane("parent", CRITICAL), 1)

        assert backlog.claim(turns, 1) == {lane("parent", CRITICAL): 1}

    def test_classes_that_ran_dry_together_start_level(self) -> None:
        """R7.1: what a class had while there was room for all is not held against it."""
        turns, backlog = Turns(), Backlog({lane(cls=CRITICAL): 1, lane(cls=LOW): 3})
        backlog.claim(turns, 100)
        backlog.add(lane(cls=CRITICAL), PLENTY)
        backlog.add(lane(cls=LOW), PLENTY)

        assert by_class(backlog.claim(turns, 11)) == [10, 0, 0, 1]

    @pytest.mark.parametrize("slots", [1, 9, 64])
    def test_a_queue_has_weights_of_its_own(self, slots: int) -> None:
        """R7.1: low too, and never less; other queues keep the defaults."""
        terms = classed(critical=1, high=2, normal=3, low=4)
        turns, backlog = Turns(), Backlog({lane(cls=cls): PLENTY for cls in PriorityClass})
        served = Counter[Lane]()
        while served.total() < 2_000:
            served += backlog.claim(turns, slots, terms=terms)

            assert abs(by_class(served)[LOW] - served.total() * 0.4) <= 2

        parts = [count / served.total() for count in by_class(served)]
        assert parts == pytest.approx([0.1, 0.2, 0.3, 0.4], rel=0.05)
        assert terms.weights("mail") == DEFAULTS.weights("sms")

    def test_the_weights_can_be_changed_between_claims(self) -> None:
        """R7.1"""
        turns, backlog = Turns(), Backlog({lane(cls=cls): PLENTY for cls in PriorityClass})
        backlog.claim(turns, 33)
        equal = classed(critical=7, high=7, normal=7, low=7)

        assert by_class(backlog.claim(turns, 40, terms=equal)) == [10, 10, 10, 10]


class TestQueues:
    @pytest.mark.parametrize("slots", [1, 7, 50])
    def test_queues_take_turns_whatever_lies_in_them(self, slots: int) -> None:
        """R7.1"""
        turns = Turns()
        backlog = Backlog(
            {lane(cls=CRITICAL, queue="a"): PLENTY, lane(cls=LOW, queue="b"): PLENTY}
            | {lane(f"t{n}", queue="c"): PLENTY for n in range(30)}
        )
        served = Counter[str]()
        for _ in range(40):
            for where, count in backlog.claim(turns, slots, queues="abc").items():
                served[where.queue] += count

            assert max(served.values()) - min(served[queue] for queue in "abc") <= 1


class TestTenants:
    @pytest.mark.parametrize("slots", [1, 7, 50])
    @given(st.integers(1, 9), st.integers(1, 9))
    def test_two_tenants_never_differ_by_more_than_one_round(
        self, slots: int, ours: int, theirs: int
    ) -> None:
        """Invariant 7"""
        terms = weighted(a=ours, b=theirs)
        turns, backlog = Turns(), Backlog({lane("a"): PLENTY, lane("b"): PLENTY})
        served = Counter[Lane]()
        for _ in range(60):
            served += backlog.claim(turns, slots, terms=terms)

            assert abs(served[lane("a")] / ours - served[lane("b")] / theirs) <= 1

    @pytest.mark.parametrize("workers", [1, 2])
    @pytest.mark.parametrize("slots", [1, 50])
    def test_fifty_tasks_are_not_delayed_by_five_thousand_of_another(
        self, slots: int, workers: int
    ) -> None:
        """R7.3: the last of the 50 starts after at most 110 of the first's, whoever claims."""
        turns, backlog = [Turns() for _ in range(workers)], Backlog({lane("a"): 5000})
        served = backlog.claim(turns[0], slots)
        backlog.add(lane("b"), 50)
        while served[lane("b")] < 50:
            for one in turns:
                served += backlog.claim(one, slots)

        assert served[lane("a")] <= 110

    @pytest.mark.parametrize("slots", [1, 4, 7, 50])
    def test_a_cursor_in_a_large_tenants_turn_does_not_delay_one_task(self, slots: int) -> None:
        """Case B140: B is among the next ten, whatever the claim's size, behind 1,000 of A."""
        turns, backlog = Turns(), Backlog({lane("a"): 1_000})
        for _ in range(5):
            backlog.claim(turns, slots)
        backlog.add(lane("b"), 1)
        before = 0
        while not (got := backlog.claim(turns, min(slots, 10)))[lane("b")]:
            before += got.total()

        assert before < 10

    @pytest.mark.parametrize("slots", [1, 3, 4, 8, 50])
    def test_weights_hold_within_every_round(self, slots: int) -> None:
        """R7.3: 3:1."""
        turns, backlog = Turns(), Backlog({lane("a"): PLENTY, lane("b"): PLENTY})
        served = Counter[Lane]()
        for _ in range(40):
            served += backlog.claim(turns, slots, terms=weighted(a=3))

            assert abs(served[lane("a")] - 3 * served[lane("b")]) <= 3

    @pytest.mark.parametrize(("slots", "limit"), [(7, 16), (50, 50), (50, 20), (500, 256)])
    def test_three_thousand_small_tenants_fare_alike_beside_a_large_one(
        self, slots: int, limit: int
    ) -> None:
        """R7.3: at half time, and nobody small is left when each has had its 20 rounds."""
        small = [lane(f"t{n:04}") for n in range(3000)]
        turns = Turns()
        backlog = Backlog(dict.fromkeys(small, 20) | {lane("t1500-large"): 100_000})
        served = Counter[Lane]()
        while served.total() < 30_000:
            served += backlog.claim(turns, slots, limit=limit)

        assert jain([served[where] for where in small]) >= 0.95

        while served.total() < 20 * 3001 + slots + 20 * (slots // limit):
            served += backlog.claim(turns, slots, limit=limit)

        assert sum(served[where] for where in small) == 60_000

    @pytest.mark.parametrize("limit", [1, 16])
    def test_a_turn_that_was_not_finished_goes_on_with_the_next_slot(self, limit: int) -> None:
        """R7.3"""
        turns, backlog = Turns(), Backlog({lane("a"): PLENTY, lane("b"): PLENTY})
        terms = weighted(a=3, b=1)
        claims = [backlog.claim(turns, 1, limit=limit, terms=terms) for _ in range(8)]
        order = [where.tenant for got in claims for where in got]

        assert "".join(order) == "aaabaaab"

    def test_a_part_of_the_ring_that_runs_dry_does_not_hold_up_the_tenants_beyond(self) -> None:
        """R7.3: slots that are left over go round in the part again, the next look goes on."""
        turns = Turns()
        backlog = Backlog({lane(f"t{n:02}"): 1 if n % 5 == 0 else PLENTY for n in range(60)})
        served = Counter[Lane]()
        for slots in [18, 5] * 4:
            served += backlog.claim(turns, slots, limit=12)

        assert len(served) == 60

    def test_what_a_worker_keeps_is_bounded(self) -> None:
        """R7.3: of queues that come and go, too."""
        turns = Turns()
        for n in range(QUEUES + 200):
            queue = f"q{n}"
            Backlog({lane(queue=queue): 2}).claim(turns, 1, queues=[queue])

        assert len(turns.classes) == QUEUES
        assert len(turns.cursors) <= 4 * QUEUES
        assert len(turns.queues._tags) <= QUEUES + 1

    def test_a_worker_keeps_nothing_per_tenant(self) -> None:
        """R7.3"""
        turns, backlog = Turns(), Backlog({lane(f"t{n}"): 2 for n in range(3000)})
        while backlog.claim(turns, 500, limit=500):
            pass

        assert len(turns.cursors) == 1
        assert not turns.planned
        assert not turns.debts


class TestPlan:
    @pytest.mark.parametrize(("lanes", "slots"), [([], 5), ([lane("a")], 0), ([lane("a")], -1)])
    def test_nothing_is_planned_without_lanes_or_slots(self, lanes: list[Lane], slots: int) -> None:
        """Design §5"""
        assert plan(Turns(), lanes, slots) == []

    def test_a_plan_that_was_not_settled_has_changed_nothing(self) -> None:
        """R3.7: the store may fail between a plan and its claim."""
        lanes = [lane(tenant, cls) for cls in PriorityClass for tenant in "abc"]
        turns = Turns()
        first = plan(turns, lanes, 29)

        assert plan(turns, lanes, 29) == first

    def test_a_dry_lane_is_named_and_its_turn_is_over(self) -> None:
        """R7.3"""
        turns, lanes = Turns(), [lane("a"), lane("b"), lane("c")]

        shares = plan(turns, lanes, 5, terms=weighted(a=3, b=3, c=3))
        dry = settle(turns, shares, [3, 1])

        assert [share.count for share in shares] == [3, 2]
        assert dry == [lane("b")]
        assert plan(turns, lanes, 1)[0].lane == lane("c")

    @given(
        st.dictionaries(
            st.builds(Lane, st.sampled_from("xy"), st.sampled_from(PriorityClass), st.text("ab")),
            st.integers(0, 30),
        ),
        st.lists(st.integers(1, 40), max_size=20),
        st.integers(1, 4),
    )
    def test_no_slot_stays_free_while_there_is_a_task_and_it_always_goes_the_same_way(
        self, counts: dict[Lane, int], sizes: list[int], weight: int
    ) -> None:
        """R7.1: work-conserving; the same claims are answered alike."""
        turns, again = Turns(), Turns()
        terms = weighted(a=weight, b=1, ab=2)
        backlog, same = Backlog(counts), Backlog(counts)
        for slots in sizes:
            ready = backlog.total
            got = backlog.claim(turns, slots, queues="xy", terms=terms)

            assert got.total() == min(slots, ready)
            assert got == same.claim(again, slots, queues="xy", terms=terms)

    @given(
        st.sets(
            st.builds(Lane, st.sampled_from("xy"), st.sampled_from(PriorityClass), st.text("abc")),
            min_size=1,
        ),
        st.integers(1, 300),
    )
    def test_every_slot_is_planned_once_and_every_lane_at_most_once(
        self, lanes: set[Lane], slots: int
    ) -> None:
        """Design §5"""
        shares = plan(Turns(), sorted(lanes, key=lambda where: (where.queue, where.cls)), slots)

        assert sum(share.count for share in shares) == slots
        assert len({share.lane for share in shares}) == len(shares)
        assert all(share.count > 0 and share.lane in lanes for share in shares)
