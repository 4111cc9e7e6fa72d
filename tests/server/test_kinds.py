"""Kinds over HTTP: which there are, and which are paused (R7.7)."""

import pytest

from rota.engine import Engine
from rota.server.shapes.kinds import Kind
from tests.support.asking import Asker
from tests.support.factories import Make
from tests.support.shapes import fits


async def test_the_kinds_of_the_app_and_of_live_workers_are_listed(
    asker: Asker, engine: Engine, make: Make
) -> None:
    await engine.open_session(make.session(kinds=("elsewhere",)))
    told = await asker.ask("GET", "/v1/kinds")
    assert [fits(kind, Kind).name for kind in told.json["items"]] == [
        "elsewhere", "report", "send_result",
    ]  # fmt: skip


async def test_what_a_kind_takes_is_told_as_far_as_the_server_knows(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """R1.6: whoever submits needs no look into the code."""
    await engine.open_session(make.session(kinds=("elsewhere",)))
    told = await asker.ask("GET", "/v1/kinds")
    takes = {kind["name"]: kind["arguments"] for kind in told.json["items"]}
    assert takes["elsewhere"] is None
    assert takes["report"][0] == {"name": "day", "required": True, "default": None}
    paused = await asker.ask("POST", "/v1/kinds/report/pause", {})
    assert paused.json["arguments"] == takes["report"]


async def test_a_pause_holds_until_it_is_resumed(asker: Asker) -> None:
    told = await asker.ask("POST", "/v1/kinds/report/pause", {"reason": "wrong text"})
    fits(told.json, Kind)
    assert (told.json["paused"], told.json["pause_reason"]) == (True, "wrong text")
    assert len((await asker.ask("GET", "/v1/kinds?paused=true")).json["items"]) == 1
    assert not (await asker.ask("POST", "/v1/kinds/report/resume")).json["paused"]


@pytest.mark.parametrize("name", ["a b", "-x", "x" * 200], ids=["space", "dash", "long"])
async def test_what_cannot_be_a_name_is_refused(asker: Asker, name: str) -> None:
    told = await asker.ask("POST", f"/v1/kinds/{name}/pause", {})
    assert told.status == 422


@pytest.mark.parametrize("deed", ["pause", "resume"])
async def test_each_deed_needs_its_role(asker: Asker, deed: str) -> None:
    told = await asker.using("read").ask("POST", f"/v1/kinds/report/{deed}", {})
    assert (told.status, told.code) == (403, "forbidden")
