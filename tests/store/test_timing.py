"""How long the verbs of a store took, and which errors they ended in (R9.3)."""

import asyncio

import pytest

from rota.errors import KeyBusy, SessionGone, StoreError, StoreFull, StoreUnavailable
from rota.store.base import Store
from rota.store.postgres.store import PostgresStore
from rota.store.sqlite.store import SQLiteStore
from rota.store.timing import BOUNDS, Timings, timed


class Contract:
    """What is timed of the stores below."""

    async def take(self, number: int) -> int:
        raise NotImplementedError

    async def listen(self) -> None:
        raise NotImplementedError


@timed(Contract)
class Kept:
    """A store of two verbs."""

    def __init__(self, error: Exception | None = None) -> None:
        self.timings = Timings()
        self._error = error

    async def take(self, number: int) -> int:
        """Take something."""
        if self._error is not None:
            raise self._error
        return number

    async def listen(self) -> None:
        """Last."""


async def test_a_verb_is_counted_once_by_its_name_and_what_lasts_is_not() -> None:
    store = Kept()
    assert [await store.take(n) for n in range(3)] == [0, 1, 2]
    await store.listen()
    assert Kept.take.__doc__ == "Take something."
    assert set(store.timings.verbs) == {"take"}
    times = store.timings.verbs["take"]
    assert sum(times[:-1]) == 3
    assert len(times) == len(BOUNDS) + 2
    assert 0 <= times[-1] < 60


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (StoreUnavailable("x"), "unavailable"),
        (StoreFull("x"), "full"),
        (StoreError("x"), "other"),
        (KeyBusy(), None),
        (SessionGone("x"), None),
        (asyncio.CancelledError(), None),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_an_error_is_counted_by_its_kind_and_answers_are_none(
    error: Exception, kind: str | None
) -> None:
    """R3.7: a session that is over is no fault of the store."""
    store = Kept(error)
    with pytest.raises(type(error)):
        await store.take(1)
    assert {name: n for name, n in store.timings.errors.items() if n} == ({kind: 1} if kind else {})
    assert sum(store.timings.verbs["take"][:-1]) == 1


@pytest.mark.parametrize("kind", [SQLiteStore, PostgresStore])
def test_both_stores_time_what_the_contract_names(kind: type) -> None:
    """A verb that is added to the contract is timed with the others."""
    for name in ("submit", "take", "finish", "stage", "tick", "board", "settings", "diagnose"):
        assert hasattr(getattr(kind, name), "__wrapped__"), name
        assert hasattr(Store, name)
    for name in ("open", "close", "migrate", "listen", "follow"):
        assert not hasattr(getattr(kind, name), "__wrapped__"), name
