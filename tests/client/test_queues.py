"""Queues and kinds: set up, bounded, paused and listed, in Python (R7.1-R7.3, R7.7, R1.7)."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from rota import Rota
from rota.backend import Backend
from rota.clock import ManualClock
from rota.config import LEVEL, MINUTE
from rota.errors import InvalidTask, SettingsChanged
from rota.queues import Queue
from rota.share_edit import TRIES
from rota.shares import AnySettings, FairBy, KindSettings, QueueSettings, Weights, WhenFull
from tests.support.factories import NOW
from tests.support.hands import Hands


def meddling(app: Rota, monkeypatch: pytest.MonkeyPatch, meddle: Callable[[Backend], Any]) -> None:
    """Let somebody else be faster at each write of settings, as `meddle` does it."""
    backend = app._client.portal.run(app._client.opened)
    put = backend.put_settings

    async def late(new: AnySettings, version: int) -> bool:
        await meddle(backend)
        return await put(new, version)

    monkeypatch.setattr(backend, "put_settings", late)


def once_and_again(times: int, name: str = "sms") -> Callable[[Backend], Any]:
    """Somebody who raises a queue's `max_depth` so many times."""
    left = iter(range(times))

    async def meddle(backend: Backend) -> None:
        if (depth := next(left, None)) is None:
            return
        old = (await backend.settings()).queue(name)
        new = structs.replace(old, max_depth=depth + 1)
        assert await backend.store.put_settings(new, old.version)  # type: ignore[attr-defined]

    return meddle


# -- set ------------------------------------------------------------------------------------------


def test_a_queue_that_nobody_has_set_up_has_the_defaults(app: Rota) -> None:
    assert app.queues.get("sms") == QueueSettings(name="sms")
    assert app.queues.get("sms").weights == Weights(critical=50, high=30, normal=15, low=5)
    assert app.queues.get("sms").aging == LEVEL
    assert app.queues.list() == []


def test_what_is_given_is_merged_with_what_is_there(app: Rota) -> None:
    app.queues.set("sms", weights={"critical": 60}, aging="5m", fair_by="time")
    app.queues.set("sms", max_depth=100_000, when_full="defer")
    last = app.queues.set("sms", weights={"low": 1}, aging=60)

    assert last == app.queues.get("sms")
    assert last == QueueSettings(
        name="sms", weights=Weights(critical=60, low=1), aging=MINUTE, fair_by=FairBy.TIME,
        max_depth=100_000, when_full=WhenFull.DEFER, version=3,
    )  # fmt: skip


def test_what_changes_nothing_is_not_written(app: Rota) -> None:
    """Every version that is written makes all nodes read the settings anew."""
    app.queues.set("sms", weights={"low": 5})
    assert app.queues.get("sms").version == 0

    app.queues.set("sms", max_depth=5)
    app.queues.set("sms", max_depth=5, weights="50:30:15:5")
    assert app.queues.get("sms").version == 1


def test_a_change_is_merged_anew_where_somebody_else_was_faster(
    app: Rota, monkeypatch: pytest.MonkeyPatch
) -> None:
    meddling(app, monkeypatch, once_and_again(3))

    assert app.queues.set("sms", aging="5m").version == 4
    assert (app.queues.get("sms").max_depth, app.queues.get("sms").aging) == (3, 5 * MINUTE)


def test_a_change_that_is_never_fast_enough_is_given_up(
    app: Rota, monkeypatch: pytest.MonkeyPatch
) -> None:
    meddling(app, monkeypatch, once_and_again(TRIES + 5))

    with pytest.raises(SettingsChanged, match="queue 'sms' was changed by somebody else"):
        app.queues.set("sms", aging="5m")
    assert app.queues.get("sms").max_depth == TRIES


def test_a_change_for_a_version_holds_for_that_version_only(
    app: Rota, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert app.queues.set("sms", version=0, aging="5m").version == 1
    with pytest.raises(SettingsChanged):
        app.queues.set("sms", version=0, aging="6m")
    meddling(app, monkeypatch, once_and_again(1))
    with pytest.raises(SettingsChanged):
        app.queues.set("sms", version=1, aging="6m")
    assert app.queues.get("sms").aging == 5 * MINUTE


def test_a_change_whose_answer_was_lost_is_recognised(
    app: Rota, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R3.7: the call is repeated, and what it finds is its own."""
    backend = app._client.portal.run(app._client.opened)
    put = backend.put_settings

    async def answers_late(new: AnySettings, version: int) -> bool:
        assert await put(new, version)
        return await put(new, version)

    monkeypatch.setattr(backend, "put_settings", answers_late)

    assert app.queues.set("sms", version=0, aging="5m").version == 1
    assert app.queues.pause("sms", "down").version == 2


REFUSED: list[tuple[str, Any, str]] = [
    ("a b", {"aging": 1}, "name"),
    ("", {"aging": 1}, "name"),
    ("sms", {"weights": {"low": 0}}, "weights.low"),
    ("sms", {"max_dept": 1}, "max_dept"),
]


def test_what_is_wrong_is_refused_and_nothing_stored(app: Rota) -> None:
    for name, changes, field in REFUSED:  # one store for all
        with pytest.raises(InvalidTask) as refused:
            app.queues.set(name, **changes)

        assert refused.value.field == field
    assert app.queues.list() == []


def test_settings_can_be_forgotten(app: Rota, monkeypatch: pytest.MonkeyPatch) -> None:
    app.queues.reset("sms")
    app.queues.set("sms", aging="5m")
    app.queues.pause("sms")
    app.limits.set(queue="sms", max_running=5)

    app.queues.reset("sms")

    assert app.queues.get("sms") == QueueSettings(name="sms")
    assert app.limits.get(queue="sms").max_running == 5


# -- pause ----------------------------------------------------------------------------------------


def test_a_paused_queue_starts_nothing_until_it_is_resumed(app: Rota, hands: Hands) -> None:
    """R7.7, invariant 4: for every claim that begins after it was stored."""

    @app.task(queue="sms")
    def send(number: int) -> None: ...

    send.submit(number=1)
    app.queues.pause("sms", "provider down")
    send.submit(number=2)
    assert hands.take("sms") == []

    app.queues.resume("sms")
    assert len(hands.take("sms")) == 2


def test_a_pause_says_since_when_and_why(still: Rota, clock: ManualClock) -> None:
    paused = still.queues.pause("sms", "provider down")
    clock.advance(60)
    again = still.queues.pause("sms")
    other = still.queues.pause("sms", reason="still down")

    assert (paused.paused_at, paused.pause_reason) == (NOW, "provider down")
    assert again == paused
    assert (other.paused_at, other.pause_reason) == (NOW, "still down")
    assert still.queues.set("sms", aging="5m").paused_at == NOW
    resumed = still.queues.resume("sms")
    assert (resumed.paused_at, resumed.pause_reason, resumed.aging) == (None, None, 5 * MINUTE)
    assert still.queues.resume("sms") == resumed


def test_a_reason_is_short_text(app: Rota) -> None:
    wrong: list[Any] = ["x" * 256, "\ud800", 5]
    for reason in wrong:
        with pytest.raises(InvalidTask, match=r"^reason: "):
            app.queues.pause("sms", reason)
    assert app.queues.get("sms").paused_at is None


# -- list -----------------------------------------------------------------------------------------


def test_queues_are_listed_if_there_is_anything_to_say_of_them(app: Rota) -> None:
    @app.task(queue="of-a-kind")
    def send(number: int) -> None: ...

    send.using(queue="with-work").submit(number=1)
    send.using(queue="with-work").submit(number=2)
    send.using(queue="later", delay="1h").submit(number=3)
    app.queues.set("set-up", max_depth=5)
    app.limits.set(queue="limited", max_running=5)

    found = {queue.settings.name: queue.waiting for queue in app.queues.list()}

    assert found == {"limited": 0, "of-a-kind": 0, "set-up": 0, "with-work": 2}
    assert list(found) == sorted(found)


def test_queues_are_listed_by_whether_they_are_paused(app: Rota) -> None:
    app.queues.set("mail", max_depth=5)
    app.queues.pause("sms")

    assert [queue.settings.name for queue in app.queues.list(paused=True)] == ["sms"]
    assert [queue.settings.name for queue in app.queues.list(paused=False)] == ["mail"]


def test_more_than_so_many_are_not_counted(app: Rota, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.queues.WAITING_CAP", 3)

    @app.task(queue="sms")
    def send(number: int) -> None: ...

    app.submit_many(send.bind(number=n) for n in range(5))

    assert app.queues.list() == [Queue(QueueSettings(name="sms"), 3, capped=True)]


# -- kinds ----------------------------------------------------------------------------------------


def test_a_paused_kind_lets_others_pass(app: Rota, hands: Hands) -> None:
    """R7.7."""

    @app.task
    def send(number: int) -> None: ...

    @app.task
    def report() -> None: ...

    send.submit(number=1)
    report.submit()
    app.kinds.pause("send", "wrong text")
    assert [task.kind for task in hands.take()] == ["report"]
    assert app.kinds.get("send").pause_reason == "wrong text"

    app.kinds.resume("send")
    assert [task.kind for task in hands.take()] == ["send"]


def test_kinds_are_listed_that_are_known_here_to_a_worker_or_paused(app: Rota) -> None:
    @app.task
    def send() -> None: ...

    Hands(app, kinds=("elsewhere",))
    app.kinds.pause("gone", "no more")

    assert [(kind.name, kind.paused_at is not None) for kind in app.kinds.list()] == [
        ("elsewhere", False), ("gone", True), ("send", False),
    ]  # fmt: skip
    assert [kind.name for kind in app.kinds.list(paused=True)] == ["gone"]
    assert app.kinds.get("send") == KindSettings(name="send")
    with pytest.raises(InvalidTask, match=r"^name: "):
        app.kinds.pause("a b")


async def test_every_verb_can_be_awaited(app: Rota) -> None:
    await app.queues.aset("sms", max_depth=5)
    await app.queues.apause("sms")
    await app.queues.aresume("sms")
    assert (await app.queues.aget("sms")).version == 3
    assert len(await app.queues.alist()) == 1
    await app.queues.areset("sms")
    await app.kinds.apause("send")
    await app.kinds.aresume("send")
    assert [kind.version for kind in await app.kinds.alist()] == [2]
