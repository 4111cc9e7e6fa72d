"""Limits: made, changed, used and removed, in Python (R7.4, R7.5)."""

from typing import Any

import pytest

from rota import Rota
from rota.errors import InvalidTask, LimitNotFound, SettingsChanged
from rota.shares import Limit
from tests.support.hands import Hands


def said(limit: Limit) -> tuple[Any, ...]:
    """What a limit bounds, and how often it was changed."""
    return (limit.queue, limit.tenant, limit.max_running, limit.rate, limit.burst, limit.version)


def test_a_limit_is_made_and_changed_by_its_scope(app: Rota) -> None:
    first = app.limits.set(queue="sms", max_running=200)
    second = app.limits.set(queue="sms", rate="500/s", burst=50)
    app.limits.set(queue="sms", tenant="board", max_running=7)
    app.limits.set(tenant="board", rate="30/m")

    assert said(first) == ("sms", None, 200, None, None, 1)
    assert said(second) == ("sms", None, 200, 500.0, 50, 2)
    assert second.id == first.id
    assert app.limits.get(queue="sms") == second
    assert said(app.limits.get(tenant="board")) == (None, "board", None, 0.5, 1, 1)
    assert said(app.limits.set(queue="sms", max_running=None)) == ("sms", None, None, 500.0, 50, 3)


def test_what_changes_nothing_is_not_written(app: Rota) -> None:
    app.limits.set(queue="sms", rate=5)
    assert app.limits.set(queue="sms", rate="5/s").version == 1


def test_a_change_for_a_version_holds_for_that_version_only(app: Rota) -> None:
    app.limits.set(queue="sms", rate=5, version=0)
    for version in (0, 2):
        with pytest.raises(SettingsChanged, match="queue 'sms' was changed by somebody else"):
            app.limits.set(queue="sms", rate=6, version=version)
    assert app.limits.set(queue="sms", rate=6, version=1).rate == 6


def test_two_who_make_the_same_limit_at_once_make_one(
    app: Rota, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = app._client.portal.run(app._client.opened)
    put = backend.put_limit
    raced: list[bool] = []

    async def late(limit: Limit, version: int) -> bool:
        if not raced:
            other = Limit(id=app.limits._ids.new(1), queue="sms", max_running=7)
            raced.append(await put(other, 0))
        return await put(limit, version)

    monkeypatch.setattr(backend, "put_limit", late)

    assert said(app.limits.set(queue="sms", rate=5)) == ("sms", None, 7, 5.0, 5, 2)
    assert len(app.limits.list()) == 1


def test_a_change_whose_answer_was_lost_is_recognised(
    app: Rota, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R3.7."""
    backend = app._client.portal.run(app._client.opened)
    put = backend.put_limit

    async def answers_late(limit: Limit, version: int) -> bool:
        assert await put(limit, version)
        return await put(limit, version)

    monkeypatch.setattr(backend, "put_limit", answers_late)

    assert app.limits.set(queue="sms", rate=5, version=0).version == 1
    assert app.limits.set(queue="sms", rate=6, version=1).version == 2


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"max_running": 5}, "queue"),
    ({"queue": "sms"}, "max_running"),
    ({"queue": "sms", "max_running": 0}, "max_running"),
    ({"queue": "sms", "rate": "fast"}, "rate"),
    ({"queue": "sms", "burst": 5}, "burst"),
    ({"queue": "sms", "max_runing": 5}, "max_runing"),
]


def test_what_is_wrong_is_refused_and_nothing_stored(app: Rota) -> None:
    for given, field in REFUSED:  # one store for all
        with pytest.raises(InvalidTask) as refused:
            app.limits.set(**given)

        assert refused.value.field == field
    assert app.limits.list() == []


def test_limits_are_listed_with_what_is_in_use(app: Rota, hands: Hands) -> None:
    @app.task(queue="sms")
    def send() -> None: ...

    app.submit_many(send.using(tenant=tenant).bind() for tenant in ("board", "board", "school"))
    app.limits.set(queue="sms", max_running=2)
    app.limits.set(tenant="board", rate="1/d", burst=10)
    app.limits.set(queue="sms", tenant="school", max_running=5)
    assert len(hands.take("sms")) == 2

    found = app.limits.list()

    scopes = [(use.limit.queue, use.limit.tenant) for use in found]
    assert scopes == [(None, "board"), ("sms", None), ("sms", "school")]
    assert [use.running for use in found[:2]] == [2 - found[2].running, 2]
    assert found[0].tokens == pytest.approx(10 - found[0].running, abs=0.01)
    assert found[1].tokens is None
    assert [use.limit.tenant for use in app.limits.list(queue="sms")] == [None, "school"]
    assert [use.limit.queue for use in app.limits.list(tenant="board")] == [None]


def test_a_limit_that_is_deleted_binds_no_more(app: Rota, hands: Hands) -> None:
    @app.task(queue="sms")
    def send() -> None: ...

    app.submit_many(send.bind() for _ in range(5))
    app.limits.set(queue="sms", max_running=2)
    assert len(hands.take("sms")) == 2
    assert hands.take("sms") == []

    gone = app.limits.delete(queue="sms")

    assert said(gone) == ("sms", None, 2, None, None, 1)
    assert len(hands.take("sms")) == 3
    with pytest.raises(LimitNotFound, match="there is no limit for queue 'sms'"):
        app.limits.delete(queue="sms")
    with pytest.raises(LimitNotFound, match="for tenant 'board' in queue 'sms'"):
        app.limits.get(queue="sms", tenant="board")


async def test_every_verb_can_be_awaited(app: Rota) -> None:
    await app.limits.aset(queue="sms", rate=5)
    assert (await app.limits.aget(queue="sms")).rate == 5
    assert len(await app.limits.alist()) == 1
    await app.limits.adelete(queue="sms")
