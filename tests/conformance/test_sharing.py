"""Settings and limits are data that change as wholes, under versions (R7.7, invariant 4)."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from rota.config import HOUR
from rota.errors import StoreError
from rota.model import Lane, Look, PriorityClass, Share, State
from rota.shares import (
    AnySettings,
    Depth,
    FairBy,
    KindSettings,
    Limit,
    LimitUse,
    QueueSettings,
    Settings,
    TenantSettings,
    Weights,
    WhenFull,
)
from rota.store.base import Store
from tests.conformance.limits import BOARD, SCHOOL, limit, store_limits, under
from tests.conformance.steps import bring, counts, open_worker, take
from tests.support.factories import LANE, LATER, NOW, Make, handed_back
from tests.support.places import Place

SMS = QueueSettings(
    name="sms",
    weights=Weights(critical=1, high=2, normal=3, low=4),
    aging=HOUR,
    fair_by=FairBy.TIME,
    max_depth=10_000,
    when_full=WhenFull.DEFER,
    paused_at=NOW,
    pause_reason='the gateway is "down": \u00fcber',
)
NOBODY = TenantSettings(name="", weight=3)
BOARD_S = TenantSettings(name="board", max_depth=7, paused_at=NOW, pause_reason="unpaid")
REPORT = KindSettings(name="report", paused_at=NOW)
Change = Callable[[Store], Awaitable[bool]]

PAUSE: dict[str, Change] = {
    "a queue is paused": lambda store: store.put_settings(SMS, 0),
    "a tenant is paused": lambda store: store.put_settings(BOARD_S, 0),
    "a kind is paused": lambda store: store.put_settings(REPORT, 0),
    "a limit is made": lambda store: store.put_limit(limit("cap", max_running=1), 0),
}


def numbered(settings: AnySettings, version: int) -> AnySettings:
    return msgspec.structs.replace(settings, version=version)


async def test_at_first_everything_has_the_defaults(store: Store) -> None:
    """R7.1: 50:30:15:5, a weight of 1, no bounds."""
    found = await store.settings()

    assert found == Settings()
    assert found.queue("sms") == QueueSettings(name="sms")
    assert (await store.lanes([], 5)).version == 0


async def test_settings_are_read_as_they_were_stored(store: Store, other: Store) -> None:
    """R7.1-R7.3, R7.7, R1.7: by every node; a tenant may have no name."""
    rate = limit("rate", tenant="", rate=0.1, burst=3, filled_at=NOW + 5)
    cap = limit("cap", max_running=200)

    for settings in (SMS, NOBODY, BOARD_S, REPORT):
        assert await store.put_settings(settings, 0)
    await store_limits(store, rate, cap)

    found = await other.settings()
    assert found.version == 6
    assert found.queues == {"sms": numbered(SMS, 1)}
    assert found.tenants == {"": numbered(NOBODY, 1), "board": numbered(BOARD_S, 1)}
    assert found.kinds == {"report": numbered(REPORT, 1)}
    by_id = {each.id: each for each in found.limits}
    assert by_id == {
        "rate": msgspec.structs.replace(rate, tokens=3.0, version=1),
        "cap": msgspec.structs.replace(cap, version=1),
    }


async def test_each_change_raises_the_version_and_no_other_call_does(store: Store) -> None:
    """Invariant 4: by it a node sees that what it knows is old."""
    cap = limit("cap", max_running=1)
    changes: list[tuple[Awaitable[bool], bool]] = [
        (store.put_settings(SMS, 0), True),
        (store.put_settings(SMS, 0), False),
        (store.put_settings(SMS, 2), False),
        (store.put_settings(SMS, 1), True),
        (store.drop_settings(numbered(SMS, 1)), False),
        (store.put_limit(cap, 0), True),
        (store.put_limit(cap, 0), False),
        (store.put_limit(cap, 2), False),
        (store.put_limit(cap, 1), True),
        (store.drop_limit("rate"), False),
        (store.drop_limit("cap"), True),
        (store.drop_limit("cap"), False),
        (store.drop_settings(numbered(SMS, 2)), True),
        (store.drop_settings(numbered(SMS, 2)), False),
        (store.drop_settings(SMS), False),
        (store.put_settings(SMS, 2), False),
        (store.put_settings(SMS, 0), True),
    ]
    version = 0
    for change, expected in changes:
        assert await change is expected
        version += expected
        assert (await store.lanes([], 5)).version == version
        assert (await store.settings()).version == version


async def test_changes_of_one_version_exclude_each_other(
    store: Store, other: Store, make: Make
) -> None:
    """R7.7: of those who read the same settings one is first, and is told to nobody else."""
    for version in range(3):
        put = [
            node.put_settings(TenantSettings(name="board", weight=n), version)
            for n, node in enumerate([store, other] * 4, 1)
        ]
        assert sorted(await asyncio.gather(*put)) == [False] * 7 + [True]
        new = [
            node.put_limit(limit(make.id(), tenant=f"t{version}", max_running=n), 0)
            for n, node in enumerate([store, other] * 4, 1)
        ]
        assert sorted(await asyncio.gather(*new)) == [False] * 7 + [True]

    found = await store.settings()
    assert found.version == 6
    assert found.tenants["board"].version == 3
    assert len(found.limits) == 3


async def test_a_scope_has_one_limit(store: Store) -> None:
    """R7.4: a queue, a tenant, a tenant in a queue; the one without a name is not all."""
    scopes: list[tuple[str | None, str | None]] = [
        ("sms", None),
        ("sms", ""),
        ("sms", "board"),
        (None, ""),
        (None, "board"),
        ("mail", None),
    ]
    for n, (queue, tenant) in enumerate(scopes):
        assert await store.put_limit(Limit(id=f"{n}", queue=queue, tenant=tenant, max_running=1), 0)
        again = Limit(id=f"again-{n}", queue=queue, tenant=tenant, rate=1.0, burst=1)
        assert not await store.put_limit(again, 0)

    taken = Limit(id="0", queue="sms", tenant="board", max_running=1)
    assert not await store.put_limit(taken, 1)
    assert await store.put_limit(Limit(id="0", queue="pdf", max_running=1), 1)
    assert await store.put_limit(Limit(id="sms", queue="sms", max_running=1), 0)
    assert (await store.settings()).version == 8


@pytest.mark.parametrize(
    "fields",
    [
        {"queue": None, "max_running": 1},
        {},
        {"rate": 1.0},
        {"burst": 5, "max_running": 1},
        {"rate": 0.0, "burst": 1},
        {"rate": 1.0, "burst": 0},
        {"max_running": -1},
    ],
    ids=str,
)
async def test_a_limit_that_bounds_nothing_is_refused(
    store: Store, fields: dict[str, object]
) -> None:
    """R7.4, R7.5: the last line of defence; users are told earlier, and better."""
    with pytest.raises(StoreError):
        await store.put_limit(limit("bad", **fields), 0)

    assert await store.settings() == Settings()


async def test_a_change_of_a_limit_keeps_its_tokens(store: Store, make: Make) -> None:
    """R7.5: up to the new burst; a limit that had no rate begins with the burst."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(6), NOW)
    rate = limit("rate", rate=1.0, burst=10)
    await store_limits(store, rate)
    version = (await store.settings()).version
    await store.take(session, [under(LANE, 6, [rate])], (), NOW, version)

    tokens = []
    for n, burst in enumerate([20, 3, None, 9], 1):
        fields = {"max_running": 1} if burst is None else {"rate": 1.0, "burst": burst}
        assert await store.put_limit(limit("rate", **fields), n)
        (use,) = await store.limit_use(["rate"], NOW)
        tokens.append(use.tokens)

    assert tokens == [4, 3, None, 9]


async def test_settings_of_a_newer_version_of_rota_stop_claims_with_a_reason(
    store: Store, place: Place
) -> None:
    """R8.6: what is added is passed over; what is not understood might be a pause."""
    await store.put_settings(SMS, 0)
    cast = "::jsonb" if place.dialect == "postgres" else ""
    await place.run(f"""update setting set body = '{{"name":"sms","since":7}}'{cast}""")
    assert (await store.settings()).queue("sms") == QueueSettings(name="sms", version=1)

    await place.run(f"""update setting set body = '{{"name":"sms","fair_by":"luck"}}'{cast}""")
    with pytest.raises(StoreError, match=r"settings of a queue .* this version of Rota"):
        await store.settings()


# -- what was planned by other settings ---------------------------------------------------------


@pytest.mark.parametrize("limits", [(), ("other",)], ids=["plain", "limited"])
@pytest.mark.parametrize("change", PAUSE)
async def test_nothing_is_handed_out_by_settings_that_have_changed(
    store: Store, other: Store, make: Make, change: str, limits: tuple[str, ...]
) -> None:
    """Invariant 4: a pause that is stored between looking and taking holds for the taking."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(3), NOW)
    await store_limits(store, limit("other", tenant="", rate=1.0, burst=9))
    found = await store.lanes([Look(LANE.queue, LANE.cls)], 5)
    shares = [Share(lane, 3, limits) for lane in found.lanes]

    assert await PAUSE[change](other)

    stale = await store.take(session, shares, (), NOW, found.version)
    assert (stale.tasks, stale.stale) == ([], True)
    assert (await store.limit_use(["other"], NOW))[0].tokens == 9
    fresh = await store.take(session, shares, (), NOW, (await store.lanes([], 5)).version)
    assert (len(fresh.tasks), fresh.stale) == (3, False)


async def test_an_empty_lane_is_not_stale(store: Store, make: Make) -> None:
    """Invariant 4: who gets nothing by the newest settings need not plan anew."""
    session = await open_worker(store, make)
    await store.put_settings(SMS, 0)

    for shares in ([], [Share(LANE, 5)]):
        assert not (await store.take(session, shares, (), NOW, 1)).stale
        assert (await store.take(session, shares, (), NOW, 0)).stale


async def test_no_task_starts_after_a_pause_was_stored(
    store: Store, other: Store, make: Make, place: Place
) -> None:
    """Invariant 4: eight claimers race with it."""
    await store.submit(make.tasks(2000), NOW)
    session = await open_worker(store, make)
    started, stored = asyncio.Event(), asyncio.Event()

    async def claim(node: Store) -> None:
        for _ in range(200):
            taken = await node.take(session, [Share(LANE, 1)], (), NOW, 0)
            if taken.stale:
                return
            started.set()
        await stored.wait()
        assert (await node.take(session, [Share(LANE, 1)], (), NOW, 0)).stale

    claims = [asyncio.create_task(claim(node)) for node in [store, other] * 4]
    await started.wait()
    assert await other.put_settings(QueueSettings(name=LANE.queue, paused_at=NOW), 0)
    # Of those that had begun before, some may end after it; whoever begins now gets nothing.
    stored.set()
    late = await store.take(session, [Share(LANE, 1)], (), NOW, 0)
    at_the_pause = await running(place)
    await asyncio.gather(*claims)

    assert late.stale
    assert await running(place) <= at_the_pause + len(claims)


async def running(place: Place) -> int:
    return int(await place.value("select count(*) from ready where session is not null"))


# -- what there is ------------------------------------------------------------------------------


async def test_how_much_of_a_limit_is_in_use(store: Store, make: Make) -> None:
    """R7.8: running tasks of every class, tokens at that moment; in the order asked for."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(4, tenant="board") + make.tasks(3, tenant="school"), NOW)
    limits = [
        limit("queue", max_running=9),
        limit("tenant", tenant="board", rate=2.0, burst=5),
        limit("both", queue="mail", tenant="board", max_running=1),
    ]
    await store_limits(store, *limits)
    version = (await store.settings()).version
    shares = [under(BOARD, 3, limits), under(SCHOOL, 2, limits)]
    await store.take(session, shares, (), NOW, version)

    uses = await store.limit_use(["both", "gone", "tenant", "queue"], NOW + 250_000)

    stored = {each.id: each for each in (await store.settings()).limits}
    assert uses == [
        LimitUse(stored["both"], 0, None, NOW + 250_000),
        LimitUse(stored["tenant"], 3, 2.5, NOW + 250_000),
        LimitUse(stored["queue"], 5, None, NOW + 250_000),
    ]
    assert await store.limit_use([], NOW) == []


async def test_what_waits_is_counted_by_queue_and_by_tenant(store: Store, make: Make) -> None:
    """R1.7: ready and not running, of every class; each up to a cap."""
    wanted = [("sms", "", 5), ("sms", "board", 0), ("sms", "board", 9), ("mail", "board", 5)]
    await store.submit([make.task(queue=q, tenant=t, priority=p) for q, t, p in wanted * 2], NOW)
    await store.submit(make.tasks(9, run_at=LATER, queue="sms"), NOW)
    session = await open_worker(store, make)
    await take(store, session, 1, lane=Lane("sms", PriorityClass.LOW, "board"))

    queues, tenants = await store.depths(["sms", "none", "mail"], ["board", "", "who"], 10)

    assert queues == [Depth("sms", 5), Depth("none", 0), Depth("mail", 2)]
    assert tenants == [Depth("board", 5), Depth("", 2), Depth("who", 0)]
    capped = await store.depths(["sms"], ["board"], 3)
    assert capped == ([Depth("sms", 3)], [Depth("board", 3)])
    assert await store.depths([], [], 3) == ([], [])


async def test_queues_that_have_work(store: Store, make: Make) -> None:
    """R7.6: by name; not those of which everything runs, waits for its time, or is over."""
    for state, queue in [
        (State.READY, "sms"),
        (State.RUNNING, "busy"),
        (State.SCHEDULED, "later"),
        (State.COMPLETED, "done"),
        (State.FAILED, "failed"),
        (State.READY, "Mail"),
        (State.READY, "mail"),
    ]:
        run_at = LATER if state is State.SCHEDULED else NOW
        await bring(store, make, state, make.task(queue=queue, run_at=run_at))

    assert await store.queues_with_work(10) == ["Mail", "mail", "sms"]
    assert await store.queues_with_work(2) == ["Mail", "mail"]


async def test_work_that_was_asked_to_stop_is_no_work(store: Store, make: Make) -> None:
    """R5.1: it is cancelled as soon as somebody sweeps, and handed out to nobody."""
    session = await open_worker(store, make)
    (task,) = make.tasks(1)
    await store.submit([task], NOW)
    (held,) = await take(store, session)
    await store.cancel([task.id], NOW)
    await store.finish(session, [handed_back(held)], NOW)

    assert await store.queues_with_work(5) == []
    assert await store.depths(["default"], [""], 5) == ([Depth("default", 0)], [Depth("", 0)])
    assert sum((await counts(store)).values()) == 1
