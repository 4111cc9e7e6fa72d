"""What others have fallen into, by the numbers of the worked example (http-and-cli.md §11).

Each is shown by a test: one of those below, or one that `SHOWN_BY` names (see test_security).
"""

import types
import typing
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from rota import Rota
from rota.clock import ManualClock, new_rng
from rota.engine import Engine
from rota.errors import StoreUnavailable
from rota.server.routes import table
from rota.server.run import KEEP_ALIVE_SECONDS, Running
from rota.server.settings import ServerSettings
from tests.server.doors import ON_SQLITE
from tests.server.hand import Hand
from tests.support.asking import Asker
from tests.support.factories import NOW, Make

SHOWN_BY = {
    1: "server/test_worker_reports.py each_item_of_a_report_has_its_own_verdict",
    2: "server/test_worker_reports.py each_item_of_a_report_has_its_own_verdict",
    3: "http/test_cut_link.py waiting_claims_whose_callers_are_gone_take_nothing",
    4: "server/test_pitfalls.py the_number_of_a_claim_is_good_after_it_was_turned_away",
    5: "http/test_remote_worker.py a_session_that_is_gone_is_a_lost_lease",
    6: "server/test_worker_reports.py each_item_of_a_report_has_its_own_verdict",
    7: "server/test_worker_reports.py a_beat_renews_the_lease_and_tells_what_is_to_stop",
    8: "server/test_schedules.py a_change_leaves_alone_what_it_does_not_name",
    9: "server/test_schedule_slots.py a_backfill_makes_a_task_of_each_slot_that_has_none",
    10: "server/test_pitfalls.py what_is_run_now_waits_for_a_pause_like_anything_else",
    11: "server/test_submit.py a_key_returns_the_first_task",
    12: "server/test_pitfalls.py the_next_slot_is_one_thing_and_a_retry_another",
    13: "server/test_pitfalls.py an_outage_is_not_remembered_under_an_idempotency_key",
    14: "server/test_batch.py item_by_item_what_is_right_is_stored",
    15: "server/test_pitfalls.py pages_keep_rows_apart_that_came_in_one_instant",
    16: "server/test_pitfalls.py no_page_promises_a_total",
    17: "server/test_events.py what_cannot_be_told_any_more_is_a_reset",
    18: "system/test_server.py a_stop_ends_streams_at_once_and_answers_what_is_under_way",
    19: "server/test_pitfalls.py idle_connections_are_closed_by_others_first",
    20: "server/test_bodies.py what_cannot_be_read_is_refused",
    21: "server/test_schemathesis.py every_answer_is_one_that_the_document_has",
    22: "server/test_login.py another_site_changes_nothing",
    23: "contrib/test_addresses.py what_is_no_plainly_public_address_is_refused",
    24: "server/test_metrics.py nobody_s_name_becomes_a_series",
    25: "cli/test_usage.py a_mistake_is_refused_in_one_line_with_exit_code_2",
}


TASK = {"kind": "send_result", "payload": {"student_id": 1}}


@ON_SQLITE
async def test_the_number_of_a_claim_is_good_after_it_was_turned_away(
    asker: Asker, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4: one that was told to come back comes back under its number, and is handed the work."""
    hand = Hand(asker.using("worker"))
    await hand.open()
    assert (await asker.ask("POST", "/v1/tasks", TASK)).status == 201
    with monkeypatch.context() as away:

        async def claim(*_: Any, **__: Any) -> Any:
            raise StoreUnavailable("away")

        away.setattr(engine, "claim_numbered", claim)
        assert (await hand.claim(1)).status == 503

    assert len(await hand.got(1)) == 1


@ON_SQLITE
async def test_what_is_run_now_waits_for_a_pause_like_anything_else(
    asker: Asker, engine: Engine
) -> None:
    """10: no switch lets it jump pauses, caps or rates."""
    rule = {"name": "hourly", "every": "1h", **TASK}
    assert (await asker.ask("POST", "/v1/schedules", rule)).status == 201
    hand = Hand(asker.using("worker"))
    await hand.open()
    await asker.ask("POST", "/v1/queues/sms/pause", {"reason": "gateway"})

    assert (await asker.ask("POST", "/v1/schedules/hourly/run-now")).status in (200, 201)

    assert await hand.got() == []
    await asker.ask("POST", "/v1/queues/sms/resume")
    assert len(await hand.got()) == 1


@ON_SQLITE
async def test_the_next_slot_is_one_thing_and_a_retry_another(
    asker: Asker, engine: Engine, clock: ManualClock
) -> None:
    """12: a run that failed and waits for its retry moves neither `next_slot` nor `next_at`."""
    rule = {"name": "hourly", "every": "1h", "jitter": "5m", **TASK}
    before = (await asker.ask("POST", "/v1/schedules", rule)).json
    await asker.ask("POST", "/v1/schedules/hourly/run-now")
    hand = Hand(asker.using("worker"))
    await hand.open()
    (task,) = await hand.got()
    failed = {"id": task["id"], "fence": task["fence"], "outcome": "failed"}
    error = {"type": "OSError", "message": "no answer", "traceback": ""}
    (verdict,) = await hand.finish(failed | {"error": error})
    assert verdict["state"] == "scheduled"

    after = (await asker.ask("GET", "/v1/schedules/hourly")).json
    assert after["next_slot"] == before["next_slot"]
    assert after["next_at"] == before["next_at"] >= before["next_slot"]
    assert (await asker.ask("GET", f"/v1/tasks/{task['id']}")).json["run_at"] != after["next_at"]


@ON_SQLITE
async def test_an_outage_is_not_remembered_under_an_idempotency_key(
    asker: Asker, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """13: only success is."""
    once = {"Idempotency-Key": "r-1"}
    with monkeypatch.context() as away:

        async def submit_each(*_: Any) -> Any:
            raise StoreUnavailable("away")

        away.setattr(engine, "submit_each", submit_each)
        assert (await asker.ask("POST", "/v1/tasks", TASK, headers=once)).status == 503

    assert (await asker.ask("POST", "/v1/tasks", TASK, headers=once)).status == 201


async def test_pages_keep_rows_apart_that_came_in_one_instant(asker: Asker, engine: Engine) -> None:
    """15: none is met twice and none is passed over, however pages are cut."""
    tasks = Make(15).tasks(9, created_at=NOW + 1, run_at=NOW + 1)
    await engine.submit(tasks)
    met: list[str] = []
    cursor = ""
    for _ in range(9):
        page = (await asker.ask("GET", f"/v1/tasks?limit=1{cursor}")).json
        met += [item["id"] for item in page["items"]]
        cursor = f"&cursor={page['next']}"
    assert met == sorted((task.id for task in tasks), reverse=True)


def structs_in(kind: Any) -> set[type[Struct]]:
    """The shapes that a type is made of, at whatever depth."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        inner = typing.get_type_hints(kind).values()
        return {kind}.union(*(structs_in(one) for one in inner if one is not kind))
    generic = isinstance(kind, types.GenericAlias | types.UnionType) or typing.get_origin(kind)
    return set().union(*(structs_in(one) for one in typing.get_args(kind))) if generic else set()


def test_no_page_promises_a_total() -> None:
    """16: a list says whether there is more, and never of how many; counts are asked for apart."""
    pages = [
        shape
        for route in table()
        for shape in structs_in(route.answers)
        if "items" in shape.__struct_fields__ and route.method == "GET"
    ]
    assert len(pages) > 10
    for shape in pages:
        assert not {"total", "total_count", "count", "pages"} & {*shape.__struct_fields__}, shape


def test_idle_connections_are_closed_by_others_first(tmp_path: Path) -> None:
    """19: a balancer's 60 s are over before ours, so that no call meets a connection that ends."""
    app = Rota(f"sqlite:///{tmp_path / 'rota.db'}")
    running = Running(app, ServerSettings(port=0), rng=new_rng())
    try:
        assert running.listener.config.timeout_keep_alive == KEEP_ALIVE_SECONDS > 60
    finally:
        running._socket.close()
