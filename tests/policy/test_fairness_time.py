"""`fair_by="time"`: tenants get equal parts of the workers' time, however long their tasks take."""

import heapq
from collections import Counter

import pytest

from rota.config import HOUR, SECOND
from rota.model import Claimed, Lane, PriorityClass, Share
from rota.policy.costs import KINDS, LANES, OUT, Costs, Table, lane_of
from rota.policy.fairness import Turns, looks, plan, settle
from rota.policy.terms import Terms
from rota.policy.turns import DEBT_MOST, correct
from rota.shares import FairBy, QueueSettings, Settings, TenantSettings
from tests.policy.backlog import lane


def by_time(**tenants: int) -> Terms:
    """Terms of a queue whose tenants share time, by these weights."""
    queue = QueueSettings(name="sms", fair_by=FairBy.TIME)
    known = {name: TenantSettings(name=name, weight=part) for name, part in tenants.items()}
    return Terms(Settings(queues={"sms": queue}, tenants=known))


def handed_out(where: Lane, kind: str, number: int) -> Claimed:
    priority = (0, 2, 5, 9)[where.cls]
    return Claimed(
        id=f"{number}", fence=1, attempt=1, lost=0, snoozes=0, kind=kind, queue=where.queue,
        tenant=where.tenant, priority=priority, run_at=0, created_at=0, payload="{}",
    )  # fmt: skip


class Workers:
    """Slots that are always busy, and tenants with more tasks than there is time for."""

    def __init__(self, slots: int, takes: dict[str, int], terms: Terms, kind: str = "") -> None:
        self.turns = Turns()
        self.takes = takes
        self.terms = terms
        self.spent = Counter[str]()
        self.ran = Counter[str]()
        self._kind = kind
        self._free = slots
        self._now = 0
        self._number = 0
        self._runs: list[tuple[int, int, Claimed]] = []

    def run(self, until: int) -> None:
        """Claim whenever a slot is free, and take in what ends."""
        while self._now < until:
            self._claim()
            self._now, _, task = heapq.heappop(self._runs)
            self._end(task)
            while self._runs and self._runs[0][0] == self._now:
                self._end(heapq.heappop(self._runs)[2])

    def _claim(self) -> None:
        looks(self.turns, ["sms"])
        lanes = [lane(tenant) for tenant in sorted(self.takes)]
        shares = plan(self.turns, lanes, self._free, terms=self.terms)
        spent = [sum(self._start(share) for _ in range(share.count)) for share in shares]
        settle(self.turns, shares, [share.count for share in shares], spent=spent)
        self._free -= sum(share.count for share in shares)

    def _start(self, share: Share) -> int:
        tenant = share.lane.tenant
        self._number += 1
        task = handed_out(share.lane, self._kind or f"kind-of-{tenant}", self._number)
        heapq.heappush(self._runs, (self._now + self.takes[tenant], self._number, task))
        return self.turns.costs.hand_out(task) if self.terms.by_time("sms") else 1

    def _end(self, task: Claimed) -> None:
        took = self.takes[task.tenant]
        if self.terms.by_time("sms"):
            correct(self.turns, lane_of(task), self.turns.costs.ended(task, took))
        self.spent[task.tenant] += took
        self.ran[task.tenant] += 1
        self._free += 1


@pytest.mark.parametrize(("slots", "hours"), [(1, 1), (8, 1 / 4), (50, 1 / 12)])
@pytest.mark.parametrize("kind", ["", "shared"])
def test_slow_tasks_do_not_get_more_time_than_their_share(
    slots: int, hours: float, kind: str
) -> None:
    """R7.3: 20 times as slow, of kinds of their own or of the same kind."""
    workers = Workers(slots, {"fast": SECOND, "slow": 20 * SECOND}, by_time(), kind)

    workers.run(int(hours * HOUR))

    assert workers.spent["slow"] / workers.spent.total() == pytest.approx(0.5, abs=0.05)


def test_time_is_shared_by_weight() -> None:
    """R7.3"""
    takes = {"a": SECOND, "b": 7 * SECOND, "c": SECOND // 4}
    workers = Workers(10, takes, by_time(a=3))

    workers.run(HOUR // 8)

    parts = [workers.spent[name] / workers.spent.total() for name in "abc"]
    assert parts == pytest.approx([0.6, 0.2, 0.2], abs=0.03)


def test_without_it_tenants_share_tasks() -> None:
    """R7.3: the default; the slow one has twenty times the time of the other."""
    takes = {"fast": SECOND // 4, "slow": 5 * SECOND}
    workers = Workers(8, takes, Terms(Settings()))

    workers.run(HOUR // 4)

    assert workers.ran["slow"] == pytest.approx(workers.ran["fast"], abs=8)


def test_tasks_that_become_slow_are_made_good_for() -> None:
    """R7.3: what was charged too little is charged when the run has ended."""
    workers = Workers(4, {"a": SECOND, "b": SECOND}, by_time())
    workers.run(HOUR // 4)
    workers.takes["b"] = 30 * SECOND
    before = Counter(workers.spent)

    workers.run(HOUR // 4 + HOUR)

    later = workers.spent - before
    assert later["b"] / later.total() == pytest.approx(0.5, abs=0.08)


def test_a_tenant_that_was_alone_owes_nothing_for_it() -> None:
    """R7.3: what nobody else wanted is not held against it."""
    workers = Workers(4, {"a": 5 * SECOND}, by_time())
    workers.run(HOUR)
    workers.takes["b"] = 5 * SECOND
    before = Counter(workers.ran)

    workers.run(HOUR + 10 * 60 * SECOND)

    later = workers.ran - before
    assert abs(later["a"] - later["b"]) <= 4


def test_a_debt_has_a_bound() -> None:
    """R7.3: one run of a day does not shut its tenant out for a day."""
    turns = Turns()

    correct(turns, lane("a"), 24 * HOUR)

    assert turns.debts[lane("a")] == DEBT_MOST


def test_other_units_start_level() -> None:
    """R7.3: a debt of seconds is not one of millions of tasks when a queue shares tasks again."""
    workers = Workers(1, {"a": SECOND, "b": 60 * SECOND}, by_time())
    workers.run(HOUR // 6)
    workers.terms = Terms(Settings())
    before = Counter(workers.ran)

    workers.run(HOUR)

    later = workers.ran - before
    assert abs(later["a"] - later["b"]) <= 1


class TestCosts:
    def test_a_run_that_never_was_is_not_charged(self) -> None:
        """R7.3: it was handed back."""
        costs = Costs()
        charge = costs.hand_out(task := handed_out(lane("a"), "k", 1))

        assert costs.ended(task, None) == -charge
        assert costs.ended(task, None) == 0

    def test_what_was_handed_out_by_another_is_not_charged(self) -> None:
        """R7.3: a node that restarted reports what it did not claim."""
        assert Costs().ended(handed_out(lane("a"), "k", 1), 5 * SECOND) == 0

    def test_a_charge_is_put_right_when_the_run_has_ended(self) -> None:
        """R7.3: in all, a run is charged what it took."""
        costs = Costs()
        charge = costs.hand_out(task := handed_out(lane("a"), "k", 1))

        assert charge + costs.ended(task, 5 * SECOND) == 5 * SECOND

    def test_a_kind_is_reckoned_by_its_last_runs(self) -> None:
        """R7.3"""
        costs = Costs()
        for n in range(50):
            costs.hand_out(task := handed_out(lane("a"), "k", n))
            costs.ended(task, 3 * SECOND)

        assert costs.hand_out(handed_out(lane("b"), "k", 99)) == pytest.approx(3 * SECOND, rel=0.01)

    def test_its_tables_are_bounded(self) -> None:
        """R7.3: memory does not follow the number of tenants, kinds or lost reports."""
        costs = Costs()
        for n in range(OUT + 500):
            costs.hand_out(task := handed_out(lane(f"t{n}"), f"k{n}", n))
            if n % 2:
                costs.ended(task, SECOND)

        assert (len(costs._kinds), len(costs._lanes), len(costs._runs)) == (KINDS, LANES, LANES)
        assert len(costs._out) <= OUT

    def test_a_table_forgets_what_was_set_first(self) -> None:
        """R7.3"""
        table: Table[str, int] = Table(2)
        for key in "abac":
            table[key] = 1

        assert list(table) == ["a", "c"]


def test_classes_share_tasks_all_the_same() -> None:
    """R7.1: time is between tenants."""
    turns = Turns()
    lanes = [lane("a", cls) for cls in PriorityClass]

    shares = plan(turns, lanes, 100, terms=by_time())

    assert {share.lane.cls: share.count for share in shares} == dict(
        zip(PriorityClass, (50, 30, 15, 5), strict=True)
    )
