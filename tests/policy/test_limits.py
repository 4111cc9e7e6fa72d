"""How much is asked of a limit, and when again."""

import pytest

from rota.config import SECOND
from rota.model import Lane, PriorityClass, Share
from rota.policy.limits import ENOUGH, Rooms, closed_until, room_of, soonest
from rota.policy.terms import Terms
from rota.shares import (
    Blocked,
    Held,
    KindSettings,
    Limit,
    LimitUse,
    QueueSettings,
    Settings,
    TenantSettings,
)
from tests.policy.backlog import lane

NOW = 1_800_000_000 * SECOND
RATE = Limit(id="r", queue="sms", rate=500.0, burst=50)
CAP = Limit(id="c", queue="sms", max_running=200)


def share(count: int, *limits: str) -> Share:
    return Share(lane(), count, limits)


class TestRooms:
    def test_a_limit_that_never_held_anything_back_is_asked_for_everything(self) -> None:
        """R7.4"""
        assert Rooms().ask(["c"]) > ENOUGH

    def test_it_is_asked_for_what_it_let_through_when_it_held_something_back(self) -> None:
        """R7.4: more would go to whoever is first."""
        rooms = Rooms()
        rooms.learn([share(50, "c"), share(50, "c")], [7, 0], [Blocked("c", Held.CAP)])

        assert rooms.ask(["c"]) == 7

    def test_it_is_asked_for_twice_as_much_when_it_gave_all(self) -> None:
        """R7.4: 1, 2, 4 ... until it does not bind any more, and then nothing is kept of it."""
        rooms = Rooms()
        rooms.learn([share(9, "c")], [0], [Blocked("c", Held.CAP)])
        asked = []
        while len(rooms):
            asked.append(rooms.ask(["c"]))
            rooms.learn([share(asked[-1], "c")], [asked[-1]], [])

        assert asked == [2**n for n in range(10)]

    def test_what_it_let_through_in_all_rounds_of_a_claim_counts(self) -> None:
        """R7.5: ten tokens have come, and the next claim asks for ten at once."""
        rooms = Rooms()
        for count, blocked in ((4, []), (6, []), (0, [Blocked("c", Held.RATE)])):
            rooms.learn([share(12, "c")], [count], blocked)
        asked = rooms.ask(["c"])
        rooms.begin()
        rooms.learn([share(10, "c")], [3], [Blocked("c", Held.RATE)])

        assert (asked, rooms.ask(["c"])) == (10, 3)

    def test_a_limit_that_was_locked_has_said_nothing(self) -> None:
        """Case B161: another claimer had it; that is no sign of less room."""
        rooms = Rooms()
        rooms.learn([share(9, "c")], [0], [Blocked("c", Held.BUSY)])

        assert rooms.ask(["c"]) > ENOUGH

    def test_the_narrowest_of_several_counts(self) -> None:
        """R7.4"""
        rooms = Rooms()
        rooms.know("a", 5)
        rooms.know("b", 3)

        assert rooms.ask(["a", "b", "c"]) == 3

    def test_limits_that_are_gone_are_forgotten(self) -> None:
        """R7.4"""
        rooms = Rooms()
        rooms.know("a", 5)
        rooms.know("b", 3)
        rooms.keep(["b"])

        assert (len(rooms), rooms.ask(["b"])) == (1, 3)


@pytest.mark.parametrize(
    ("limit", "running", "tokens", "room"),
    [
        (CAP, 150, None, 50),
        (CAP, 200, None, 0),
        (CAP, 230, None, 0),
        (RATE, 999, 0.9, 0),
        (RATE, 999, 12.9, 12),
        (Limit(id="b", queue="sms", max_running=5, rate=1.0, burst=9), 3, 8.0, 2),
    ],
)
def test_how_many_more_a_limit_lets_through(
    limit: Limit, running: int, tokens: float | None, room: int
) -> None:
    """R7.4, R7.5; a cap may have been lowered below what runs."""
    assert room_of(LimitUse(limit, running, tokens, NOW)) == room


@pytest.mark.parametrize(
    ("limit", "tokens", "until"),
    [(RATE, 0.5, NOW + 1_000), (RATE, 1.0, None), (CAP, None, None)],
)
def test_when_there_will_be_a_token(limit: Limit, tokens: float | None, until: int | None) -> None:
    """R7.5"""
    assert closed_until(LimitUse(limit, 0, tokens, NOW)) == until


@pytest.mark.parametrize(
    ("rate", "burst", "most", "later"),
    [
        (500.0, 50, 100, 18_000),  # ten tokens have gathered within 20 ms
        (500.0, 50, 3, 4_000),
        (500.0, 1, 100, 0),  # more than one never gathers
        (500.0, 4, 100, 2_000),
        (0.5, 5, 100, 0),
    ],
)
def test_a_few_tokens_are_waited_for_but_not_long(
    rate: float, burst: int, most: int, later: int
) -> None:
    """R7.5: each ask costs the same; what could gather must not be lost by waiting."""
    limit = Limit(id="r", queue="sms", rate=rate, burst=burst)

    assert soonest(limit, NOW, most, SECOND // 50) == NOW + later


def test_a_cap_that_will_let_more_through_is_asked_then() -> None:
    """R7.4"""
    assert soonest(CAP, NOW, 5, SECOND // 50) == NOW


class TestTerms:
    limits = (
        Limit(id="q", queue="sms", max_running=1),
        Limit(id="t", tenant="board", rate=1.0, burst=1),
        Limit(id="qt", queue="sms", tenant="board", max_running=1),
        Limit(id="other", queue="mail", tenant="board", max_running=1),
    )

    @pytest.mark.parametrize(
        ("queue", "tenant", "ids"),
        [
            ("sms", "board", ("q", "t", "qt")),
            ("sms", "college", ("q",)),
            ("mail", "board", ("t", "other")),
            ("push", "board", ("t",)),
            ("push", "", ()),
        ],
    )
    def test_which_limits_a_lane_falls_under(
        self, queue: str, tenant: str, ids: tuple[str, ...]
    ) -> None:
        """R7.4, R7.5"""
        terms = Terms(Settings(limits=self.limits))
        where = Lane(queue, PriorityClass.LOW, tenant)

        assert terms.limits(where) == ids
        assert set(ids) == {one.id for one in self.limits if one.binds(queue, tenant)}

    @pytest.mark.parametrize(
        ("queue", "tenant", "capped"),
        [("sms", "", True), ("push", "board", False), ("mail", "board", True), ("mail", "", False)],
    )
    def test_whose_end_makes_room(self, queue: str, tenant: str, capped: bool) -> None:
        """R7.4: the end of what falls under a rate alone makes none."""
        assert Terms(Settings(limits=self.limits)).capped(queue, tenant) is capped

    def test_what_is_paused(self) -> None:
        """R7.7"""
        terms = Terms(
            Settings(
                queues={
                    "sms": QueueSettings(name="sms", paused_at=NOW),
                    "mail": QueueSettings(name="mail"),
                },
                tenants={"board": TenantSettings(name="board", paused_at=NOW)},
                kinds={"b": KindSettings(name="b", paused_at=1), "a": KindSettings(name="a")},
            )
        )

        assert terms.paused_queues == {"sms"}
        assert terms.paused_tenants == {"board"}
        assert terms.paused_kinds == ("b",)
