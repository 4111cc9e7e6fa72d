"""The same machine with limits: they hold, whatever becomes of what runs under them (B127)."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from rota.model import Share, State
from rota.store.base import Store
from tests.conformance.known import which
from tests.conformance.known_limits import SCOPES, KnownLimit, bounds, made
from tests.conformance.limits import take_under
from tests.conformance.machine import Run, StoreMachine, assert_alike
from tests.support.factories import LANE
from tests.support.places import Place


class LimitMachine(StoreMachine):
    """Limits come, change and go, while every verb that changes a task is called in any order."""

    def __init__(self, place: Place, store: Store, run: Run) -> None:
        super().__init__(place, store, run)
        self.limits: dict[str, KnownLimit] = {}

    @rule(n=which, count=st.integers(1, 4))
    def take_under_limits(self, n: int, count: int) -> None:
        lease = self.leases[n]
        rooms = [limit.room(self.running(), self.now) for limit in self.limits.values()]
        most = min([count, *rooms])
        expected = self.handed_out(lease, most)
        for limit in self.limits.values():
            limit.spend(len(expected), self.now)
        held_back = [
            name
            for name, limit in self.limits.items()
            if len(expected) < count and not limit.room(self.running(), self.now)
        ]
        share = Share(LANE, count, tuple(self.limits))
        taken = self.run(take_under(self.store, lease.id, [share], self.now))
        assert_alike(taken.tasks, expected)
        if self.alive(lease):
            assert sorted(each.limit for each in taken.blocked) == sorted(held_back)

    def running(self) -> int:
        return sum(known.state is State.RUNNING for known in self.known.values())

    @rule(wanted=bounds)
    def put_limit(self, wanted: tuple[str, int | None, float | None, int]) -> None:
        limit = made(wanted, self.now)
        there = self.limits.get(limit.id)
        assert self.run(self.store.put_limit(limit, there.version if there else 0))
        assert not self.run(self.store.put_limit(limit, 0))
        if there:
            there.changed(limit)
        else:
            self.limits[limit.id] = KnownLimit(limit, limit.burst or 0, self.now)

    @rule(name=st.sampled_from([*SCOPES]))
    def drop_limit(self, name: str) -> None:
        there = self.limits.pop(name, None)
        assert self.run(self.store.drop_limit(name)) is (there is not None)

    @invariant()
    def what_runs_under_a_limit_is_what_runs(self) -> None:
        uses = self.run(self.store.limit_use([*self.limits], self.now))
        assert [use.running for use in uses] == [self.running()] * len(self.limits)
        expected = [limit.left(self.now) for limit in self.limits.values()]
        assert [use.tokens for use in uses] == [t and pytest.approx(t) for t in expected]
