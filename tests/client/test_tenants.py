"""Tenants: each one's part, bound and pause, in Python (R7.3, R7.7)."""

from typing import Any

import pytest

from rota import Rota
from rota.errors import InvalidTask, SettingsChanged
from rota.shares import TenantSettings
from rota.tenants import Tenant
from tests.support.hands import Hands


def test_a_tenant_that_nobody_has_set_up_has_the_defaults(app: Rota) -> None:
    assert app.tenants.get("board") == TenantSettings(name="board", weight=1)
    assert app.tenants.get("") == TenantSettings(name="")
    assert app.tenants.list() == []


def test_what_is_given_is_merged_with_what_is_there(app: Rota) -> None:
    app.tenants.set("board", weight=3)
    app.tenants.set("board", max_depth=20_000)
    assert app.tenants.get("board") == TenantSettings(
        name="board", weight=3, max_depth=20_000, version=2
    )

    assert app.tenants.set("board", max_depth=None, version=2).max_depth is None
    with pytest.raises(SettingsChanged, match="tenant 'board' was changed"):
        app.tenants.set("board", weight=4, version=2)
    app.tenants.reset("board")
    assert app.tenants.get("board") == TenantSettings(name="board")


REFUSED: list[tuple[str, Any, str]] = [
    ("a b", {"weight": 2}, "name"),
    ("board", {"weight": 0}, "weight"),
    ("board", {"wieght": 2}, "wieght"),
]


def test_what_is_wrong_is_refused_and_nothing_stored(app: Rota) -> None:
    for name, changes, field in REFUSED:  # one store for all
        with pytest.raises(InvalidTask) as refused:
            app.tenants.set(name, **changes)

        assert refused.value.field == field
    assert app.tenants.list() == []


@pytest.mark.parametrize("name", ["board", ""])
def test_a_paused_tenant_lets_others_pass(app: Rota, hands: Hands, name: str) -> None:
    """R7.7, in every queue; also for tasks on nobody's behalf."""

    @app.task
    def send() -> None: ...

    for tenant in ("board", "school", ""):
        send.using(tenant=tenant).submit()
        send.using(tenant=tenant, queue="mail").submit()
    app.tenants.pause(name, "invoice is open")

    others = {"board", "school", ""} - {name}
    assert {task.tenant for task in hands.take() + hands.take("mail")} == others
    assert app.tenants.get(name).pause_reason == "invoice is open"

    app.tenants.resume(name)
    assert {task.tenant for task in hands.take() + hands.take("mail")} == {name}


def test_tenants_are_listed_that_have_settings_or_limits(app: Rota) -> None:
    @app.task
    def send() -> None: ...

    for tenant in ("board", "board", "school"):
        send.using(tenant=tenant).submit()
    app.tenants.set("board", weight=3)
    app.limits.set(tenant="club", max_running=5)
    app.tenants.pause("gone")

    found = app.tenants.list()

    assert [(one.settings.name, one.waiting) for one in found] == [
        ("board", 2), ("club", 0), ("gone", 0),
    ]  # fmt: skip
    assert isinstance(found[0], Tenant)
    assert [one.settings.name for one in app.tenants.list(paused=True)] == ["gone"]


async def test_every_verb_can_be_awaited(app: Rota) -> None:
    await app.tenants.aset("board", weight=2)
    await app.tenants.apause("board")
    await app.tenants.aresume("board")
    assert (await app.tenants.aget("board")).version == 3
    assert len(await app.tenants.alist()) == 1
    await app.tenants.areset("board")
