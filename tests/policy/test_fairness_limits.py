"""What a limit lets through is shared like slots are: by class, by tenant, and nobody starves."""

from collections import Counter

import pytest

from rota.model import Lane, PriorityClass, Share
from rota.policy.fairness import Turns, plan
from rota.shares import Limit
from tests.policy.backlog import Backlog, capped, lane

CRITICAL, HIGH, NORMAL, LOW = PriorityClass
PLENTY = 1_000_000
OF_QUEUE = Limit(id="sms", queue="sms", max_running=1)
OF_TENANT = Limit(id="board", tenant="board", max_running=1)


def served(
    backlog: Backlog,
    claims: int,
    slots: int,
    room: int,
    limit: Limit,
    *,
    asks: int | None = None,
    **tenants: int,
) -> Counter[Lane]:
    """What so many claims get, each of which finds the same room in the limit.

    With `asks` each one expects that much room, which is far from the truth.
    """
    turns, got = Turns(), Counter[Lane]()
    terms = capped(limit, **tenants)
    for _ in range(claims):
        if asks is not None:
            turns.rooms.know(limit.id, asks)
        got += backlog.claim(turns, slots, terms=terms, rooms={limit.id: room})
    return got


class TestAQueueAtItsCap:
    @pytest.mark.parametrize("asks", [None, 60])
    @pytest.mark.parametrize("room", [1, 3, 10])
    @pytest.mark.parametrize("slots", [1, 99, 100])
    def test_its_tenants_share_what_comes_free_by_weight(
        self, slots: int, room: int, asks: int | None
    ) -> None:
        """R7.3, R7.4: whoever asks for more than there is must not take all of it first."""
        backlog = Backlog({lane(tenant): PLENTY for tenant in "abc"})

        got = served(backlog, 400, slots, room, OF_QUEUE, asks=asks, a=3)

        total = got.total()
        assert total == 400 * min(room, slots)
        assert got[lane("a")] == pytest.approx(total * 3 / 5, rel=0.03)
        assert got[lane("b")] == pytest.approx(total / 5, rel=0.03)

    @pytest.mark.parametrize("asks", [None, 40])
    @pytest.mark.parametrize("room", [1, 7])
    def test_its_classes_share_what_comes_free(self, room: int, asks: int | None) -> None:
        """R7.1: 50:30:15:5, and low does not starve."""
        backlog = Backlog({lane(cls=cls): PLENTY for cls in PriorityClass})

        got = served(backlog, 1_000, 50, room, OF_QUEUE, asks=asks)

        shares = [got[lane(cls=cls)] / got.total() for cls in PriorityClass]
        assert shares == pytest.approx([0.5, 0.3, 0.15, 0.05], rel=0.05)

    def test_a_small_tenant_does_not_wait_for_a_large_one(self) -> None:
        """R7.3: five at a time come free; 50 tasks behind 5,000."""
        turns, backlog = Turns(), Backlog({lane("a"): 5_000})
        terms = capped(OF_QUEUE)
        for _ in range(20):
            backlog.claim(turns, 100, terms=terms, rooms={"sms": 5})
        backlog.add(lane("b"), 50)
        got = Counter[Lane]()
        while got[lane("b")] < 50:
            got += backlog.claim(turns, 100, terms=terms, rooms={"sms": 5})

        assert got[lane("a")] <= 60

    def test_the_other_queues_get_the_slots_that_it_may_not_have(self) -> None:
        """R7.1: work-conserving."""
        turns = Turns()
        backlog = Backlog({lane(): PLENTY, lane(queue="mail"): 500})
        terms = capped(OF_QUEUE)

        for _ in range(5):
            got = backlog.claim(turns, 100, queues=("sms", "mail"), terms=terms, rooms={"sms": 2})

            assert +got == {lane(): 2, lane(queue="mail"): 98}

    def test_waiting_for_its_limit_earns_it_no_credit_over_other_queues(self) -> None:
        """R7.1: when the cap is lifted, both queues get the same."""
        turns = Turns()
        backlog = Backlog({lane(): PLENTY, lane(queue="mail"): PLENTY})
        queues = ("sms", "mail")
        for _ in range(50):
            turns.rooms.know("sms", 1)
            backlog.claim(turns, 100, queues=queues, terms=capped(OF_QUEUE), rooms={"sms": 1})

        got = Counter[str]()
        for _ in range(4):
            for where, count in backlog.claim(turns, 100, queues=queues).items():
                got[where.queue] += count

        assert abs(got["sms"] - got["mail"]) <= 100

    def test_no_more_is_asked_of_it_than_it_let_through(self) -> None:
        """R7.1, R7.4: the others get their slots in the same plan."""
        turns, terms = Turns(), capped(OF_QUEUE)
        lanes = [lane(), lane(queue="mail")]
        Backlog({lane(): PLENTY}).claim(turns, 50, terms=terms, rooms={"sms": 3})

        shares = plan(turns, lanes, 100, terms=terms)

        assert {share.lane.queue: share.count for share in shares} == {"sms": 3, "mail": 97}

    def test_a_limit_that_does_not_bind_changes_nothing(self) -> None:
        """R7.1"""
        lanes = {lane(tenant, cls): 500 for tenant in "ab" for cls in PriorityClass}
        plain, limited = Backlog(lanes), Backlog(lanes)
        turns, same = Turns(), Turns()

        for slots in (7, 100, 31):
            got = limited.claim(turns, slots, terms=capped(OF_QUEUE), rooms={"sms": PLENTY})

            assert got == plain.claim(same, slots)


class TestATenantAtItsCap:
    @pytest.mark.parametrize("slots", [1, 30])
    def test_it_does_not_hold_up_the_others(self, slots: int) -> None:
        """R7.4: work-conserving, also where most are at their caps."""
        full = [Limit(id=f"t{n:02}", tenant=f"t{n:02}", max_running=1) for n in range(40)]
        counts = {lane(f"t{n:02}"): PLENTY for n in range(40)} | {lane("free"): PLENTY}
        turns, backlog = Turns(), Backlog(counts)

        for _ in range(20):
            rooms = {limit.id: 0 for limit in full}
            got = backlog.claim(turns, slots, terms=capped(*full), rooms=rooms)

            assert +got == {lane("free"): slots}

    @pytest.mark.parametrize("room", [1, 5])
    def test_its_classes_share_what_its_cap_lets_through(self, room: int) -> None:
        """R7.1: beside others that wait for nothing but slots; low does not starve."""
        backlog = Backlog(
            {lane("board", CRITICAL): PLENTY, lane("board", LOW): PLENTY}
            | {lane("college", NORMAL): PLENTY}
        )

        got = served(backlog, 600, 20, room, OF_TENANT)

        low, critical = got[lane("board", LOW)], got[lane("board", CRITICAL)]
        assert low + critical == 600 * room
        assert low / (low + critical) == pytest.approx(5 / 55, rel=0.3)

    def test_what_it_could_not_use_is_not_owed_to_it(self) -> None:
        """R7.3: its cap, not the others, kept it back."""
        backlog = Backlog({lane("board"): PLENTY, lane("college"): PLENTY})
        turns, terms = Turns(), capped(OF_TENANT)
        for _ in range(50):
            backlog.claim(turns, 20, terms=terms, rooms={"board": 1})

        got = backlog.claim(turns, 20)

        assert abs(got[lane("board")] - got[lane("college")]) <= 1


class TestSpare:
    def test_lanes_under_limits_do_not_get_the_spare_slots(self) -> None:
        """R7.4: what will only wait in a worker's buffer does not use up a cap."""
        lanes = [lane("board"), lane("college")]

        shares = plan(Turns(), lanes, 100, spare=90, terms=capped(OF_TENANT))

        assert {share.lane.tenant: share.count for share in shares} == {"board": 10, "college": 50}

    def test_without_a_slot_that_is_not_spare_they_get_none(self) -> None:
        """R7.4"""
        assert plan(Turns(), [lane("board")], 10, spare=10, terms=capped(OF_TENANT)) == []

    def test_several_queues_at_their_limits_do_not_get_more_together(self) -> None:
        """R7.4"""
        limits = [Limit(id=name, queue=name, max_running=9) for name in ("sms", "mail", "push")]
        lanes = [lane(queue=limit.id) for limit in limits]

        shares = plan(Turns(), lanes, 60, spare=50, terms=capped(*limits))

        assert sum(share.count for share in shares) == 10

    def test_a_share_names_every_limit_that_it_falls_under(self) -> None:
        """R7.4, R7.5"""
        both = Limit(id="both", queue="sms", tenant="board", rate=5.0, burst=5)
        other = Limit(id="other", queue="mail", tenant="board", max_running=1)

        shares = plan(Turns(), [lane("board")], 1, terms=capped(OF_TENANT, both, OF_QUEUE, other))

        assert shares == [Share(lane("board"), 1, ("sms", "board", "both"))]
