"""Tasks are found by more than their names, and a look costs no more than was allowed (B170)."""

from typing import Any

import pytest
from msgspec import Struct

from rota.actions import Counted
from rota.config import HOUR, MINUTE
from rota.filters import check_filter
from rota.model import State, TaskFilter
from rota.store.base import Store
from tests.conformance.steps import EVERY_TASK, bring
from tests.support.factories import LATER, NOW, Make

SCHEDULED, READY, RUNNING = State.SCHEDULED, State.READY, State.RUNNING
COMPLETED, CANCELLED, FAILED = State.COMPLETED, State.CANCELLED, State.FAILED


class Case(Struct, frozen=True):
    """A filter, and the tasks that it finds by their names below."""

    where: dict[str, Any]
    found: str


TASKS: dict[str, tuple[State, dict[str, Any]]] = {
    "a": (SCHEDULED, {"queue": "sms", "run_at": LATER, "payload": '{"student":{"id":17}}'}),
    "b": (RUNNING, {"queue": "mail", "tenant": "board", "payload": '{"student":{"id":"17"}}'}),
    "c": (COMPLETED, {"queue": "sms", "kind": "send_otp", "payload": '{"ok":true,"note":null}'}),
    "d": (CANCELLED, {"queue": "push", "key": "hold-1%", "key_until": LATER}),
    "e": (FAILED, {"queue": "mail", "key": "hold_12", "key_until": LATER, "payload": '{"ok":1}'}),
    "f": (READY, {"queue": "sms", "tags": ("vip",), "payload": '{"a\'b":"x","note":"it\'s"}'}),
}
CASES = [
    Case({"queue": ["sms", "mail"]}, "abcef"),
    Case({"queue": ["none"]}, ""),
    Case({"kind": ["send_otp", "none"]}, "c"),
    Case({"tenant": ["", "none"]}, "acdef"),
    Case({"tenant": ["board"]}, "b"),
    Case({"queue": ["sms"], "state": ["ready", "completed"]}, "cf"),
    Case({"run_from": NOW, "run_to": NOW + 1}, "bcdef"),
    Case({"run_from": NOW + 1}, "a"),
    Case({"finished_from": NOW}, "cde"),
    Case({"finished_to": NOW}, ""),
    Case({"finished_from": NOW, "state": ["failed", "ready"]}, "e"),
    Case({"id_or_key": "hold"}, "de"),
    Case({"id_or_key": "hold_1"}, "e"),
    Case({"id_or_key": "hold-1%"}, "d"),
    Case({"id_or_key": "%"}, ""),
    Case({"id_or_key": "_"}, ""),
    Case({"error_type": "ConnectionError"}, "e"),
    Case({"kind": "send_result", "payload": {"student.id": 17}}, "a"),
    Case({"kind": "send_result", "payload": {"student.id": "17"}}, "b"),
    Case({"kind": "send_result", "payload": {"student.id": 17.0}}, "a"),
    Case({"kind": "send_result", "payload": {"student": "x"}}, ""),
    Case({"kind": "send_otp", "payload": {"ok": True}}, "c"),
    Case({"kind": "send_otp", "payload": {"ok": 1}}, ""),
    Case({"kind": "send_result", "payload": {"ok": 1}}, "e"),
    Case({"kind": "send_result", "payload": {"ok": True}}, ""),
    Case({"kind": "send_otp", "payload": {"note": None}}, "c"),
    Case({"kind": "send_otp", "payload": {"none": None}}, ""),
    Case({"kind": "send_otp", "payload": {"note": None, "ok": True}}, "c"),
    Case({"kind": "send_result", "payload": {"note": "it's"}}, "f"),
    Case({"tag": "vip"}, "f"),
]


async def stored(store: Store, make: Make) -> dict[str, str]:
    """The tasks' names by their ids."""
    made = {}
    for name, (state, fields) in TASKS.items():
        made[(await bring(store, make, state, make.task(**fields))).id] = name
    return made


def spelled(values: dict[str, Any]) -> TaskFilter:
    """A filter; instants go past the reading of texts."""
    instants = {name: value for name, value in values.items() if isinstance(value, int)}
    texts = {name: value for name, value in values.items() if name not in instants}
    where = check_filter(texts)
    fields = {name: getattr(where, name) for name in where.__struct_fields__}
    return TaskFilter(**fields | instants)


async def test_every_filter_finds_what_it_says(store: Store, make: Make) -> None:
    """R9.1: a list, a look and both counts agree (invariant 8)."""
    names = await stored(store, make)
    for case in CASES:
        where = spelled(case.where)

        found = await store.find(where)
        looked = await store.search(where, limit=50, most=1000)
        counted = await store.count_among(where, 100, 1000)

        assert "".join(sorted(names[task.id] for task in found)) == case.found, case.where
        assert looked.ids == [task.id for task in found]
        assert looked.next_id is None
        assert counted.whole
        assert counted.counts == await store.count(where, 100)
        assert sum(counted.counts.values()) == len(case.found)


async def test_what_ran_in_a_session_is_found_by_it(store: Store, make: Make) -> None:
    """R9.1: what does it hold, and what did it do."""
    running = await bring(store, make, RUNNING)
    done = await bring(store, make, COMPLETED)
    for task in (running, done):
        (read,) = await store.get([task.id])
        assert read is not None
        where = TaskFilter(session=read.session)
        assert [one.id for one in await store.find(where)] == [task.id]
        assert (await store.search(where, limit=10, most=100)).ids == [task.id]
    assert await store.find(TaskFilter(session="none")) == []


async def test_nothing_is_found_where_nothing_may_be(store: Store, make: Make) -> None:
    """S2: a scope that does not meet the filter leaves nothing, not everything."""
    await stored(store, make)
    for where in (TaskFilter(queues=()), TaskFilter(tenants=()), TaskFilter(kinds=())):
        assert await store.find(where) == []
        assert (await store.search(where, limit=10, most=100)).ids == []
        assert await store.count(where, 100) == {}
    contradiction = TaskFilter(states=(READY,), finished_from=NOW)
    assert await store.find(contradiction) == []
    assert (await store.search(contradiction, limit=10, most=100)).ids == []
    assert (await store.count_among(contradiction, 10, 100)).counts == {}


@pytest.mark.parametrize("most", [1, 4, 7, 100])
@pytest.mark.parametrize("limit", [1, 3, 50])
async def test_looks_that_are_bounded_meet_every_task_once(
    store: Store, make: Make, limit: int, most: int
) -> None:
    """B170: a page may be short or empty, and says where to go on."""
    wanted = []
    for n in range(24):
        state = list(State)[n % len(State)]
        if state is READY:  # it would be taken for one that is made to run
            state = CANCELLED
        tags: dict[str, Any] = {"tags": ("rare",)} if n % 5 == 0 else {}
        run_at = LATER if state is SCHEDULED else NOW
        task = await bring(store, make, state, make.task(run_at=run_at, **tags))
        wanted += [task.id] if tags else []

    met: list[str] = []
    before_id, looks = None, 0
    while True:
        found = await store.search(
            TaskFilter(tag="rare"), before_id=before_id, limit=limit, most=most
        )
        assert len(found.ids) <= limit
        met += found.ids
        looks += 1
        if (before_id := found.next_id) is None:
            break

    assert met == wanted[::-1]
    assert looks <= 24 // min(most, limit) + 2


@pytest.mark.parametrize("states", [(RUNNING,), (READY,), (CANCELLED,), (READY, RUNNING)], ids=str)
async def test_few_among_many_are_found_at_the_first_look(
    store: Store, make: Make, states: tuple[State, ...]
) -> None:
    """B170: what runs is what a dashboard shows all day."""
    wanted = [await bring(store, make, state) for state in states if state is not READY]
    await store.submit(make.tasks(300), NOW)

    found = await store.search(TaskFilter(states=states), limit=5, most=100)

    if READY in states:
        assert len(found.ids) == 5
    else:
        assert found.ids == [task.id for task in wanted]


async def test_a_count_says_when_it_has_not_seen_all(store: Store, make: Make) -> None:
    """B170: there are at least so many."""
    await store.submit(make.tasks(30), NOW)
    await store.submit(make.tasks(5, run_at=LATER + HOUR, tags=("rare",)), NOW)

    assert await store.count_among(EVERY_TASK, 100, 100) == Counted({SCHEDULED: 5, READY: 30})
    assert not (await store.count_among(EVERY_TASK, 100, 20)).whole
    assert not (await store.count_among(EVERY_TASK, 10, 100)).whole
    assert (await store.count_among(EVERY_TASK, 10, 100)).counts[READY] == 10
    rare = TaskFilter(tag="rare", run_from=NOW + MINUTE)
    assert await store.count_among(rare, 100, 100) == Counted({SCHEDULED: 5})
