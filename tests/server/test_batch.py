"""Submitting many tasks over HTTP, and what became of them (R1.5)."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from rota.clock import ManualClock
from rota.engine import Engine
from rota.errors import Overloaded
from rota.model import Accepted, NewTask, State, TaskFilter
from rota.requests import Submission
from rota.server.items import LINE_BYTES
from tests.support.asking import Asker, Told

GOOD = {"kind": "send_result", "payload": {"student_id": 1}}
BAD = {"kind": "send_result", "payload": {"student_id": "x"}}
NDJSON = {"Content-Type": "application/x-ndjson"}


async def batch(
    asker: Asker, items: Any, query: str = "", sent: dict[str, str] | None = None
) -> Told:
    return await asker.ask("POST", f"/v1/tasks/batch{query}", items, headers=sent)


async def lines(
    asker: Asker, *texts: bytes, query: str = "", chunks: Sequence[bytes] | None = None
) -> Told:
    raw = b"\n".join(texts) if chunks is None else chunks
    return await asker.ask("POST", f"/v1/tasks/batch{query}", raw=raw, headers=NDJSON)


async def stored(engine: Engine) -> int:
    return sum((await engine.count(TaskFilter(), 20_000)).values())


async def test_a_batch_is_stored_and_answered_item_by_item(asker: Asker, engine: Engine) -> None:
    told = await batch(asker, [GOOD, GOOD | {"delay": 60}, GOOD | {"tenant": "board"}])
    assert told.status == 201, told.json
    assert told.headers["location"] == f"/v1/batches/{told.json['id']}"
    assert (told.json["created"], told.json["existing"], told.json["refused"]) == (3, 0, 0)
    assert [item["state"] for item in told.json["items"]] == ["ready", "scheduled", "ready"]
    found = await engine.get([item["id"] for item in told.json["items"]])
    assert [task and task.tenant for task in found] == ["", "", "board"]
    assert all(task and task.headers["rota-submitted-by"] == "admin" for task in found)


async def test_what_is_answered_can_be_counts_alone(asker: Asker) -> None:
    told = await batch(asker, [GOOD] * 3, "?return=counts")
    assert (told.json["created"], told.json["items"]) == (3, None)


async def test_of_a_batch_with_a_fault_nothing_is_stored_and_every_fault_is_named(
    asker: Asker, engine: Engine
) -> None:
    told = await batch(asker, [GOOD, BAD, {"kind": "nobody"}, {"payload": {}}, 7, GOOD])
    assert (told.status, told.code) == (422, "validation_failed")
    assert [(error["pointer"], error["code"]) for error in told.json["errors"]] == [
        ("/1/payload/student_id", "validation_failed"),
        ("/2/kind", "unknown_kind"),
        ("/3/kind", "validation_failed"),
        ("/4", "validation_failed"),
    ]
    assert await stored(engine) == 0
    told = await batch(asker, [BAD] * 300)
    assert len(told.json["errors"]) == 100


async def test_item_by_item_what_is_right_is_stored(asker: Asker, engine: Engine) -> None:
    told = await batch(asker, [GOOD, BAD, GOOD], "?mode=per_item")
    assert told.status == 207
    assert (told.json["created"], told.json["refused"]) == (2, 1)
    assert [item["id"] is None for item in told.json["items"]] == [False, True, False]
    assert told.json["items"][1]["error"] == {
        "code": "validation_failed",
        "pointer": "/payload/student_id",
        "detail": "expected `int`, got `str`",
    }
    assert await stored(engine) == 2
    assert (await batch(asker, [GOOD], "?mode=per_item")).status == 201


async def test_item_by_item_many_are_committed_in_runs(
    asker: Asker, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    store = engine.submit_once

    async def counted(tasks: Sequence[NewTask], kept: Submission) -> list[Accepted] | Submission:
        sizes.append(len(tasks))
        if len(sizes) == 2:
            raise Overloaded("queue sms", 10, 5, 1.0)
        return await store(tasks, kept)

    monkeypatch.setattr(engine, "submit_once", counted)
    told = await batch(asker, [GOOD] * 1_200, "?mode=per_item")
    assert sizes == [500, 500, 200]
    assert (told.status, told.json["created"], told.json["refused"]) == (207, 700, 500)
    assert told.json["items"][600]["error"]["code"] == "overloaded"
    shown = await asker.ask("GET", f"/v1/batches/{told.json['id']}")
    assert shown.json["total"] == 700


async def test_a_batch_for_which_there_is_no_room_is_not_stored_at_all(
    asker: Asker, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(tasks: Sequence[NewTask], kept: Submission) -> list[Accepted]:
        raise Overloaded("queue sms", 10, 5, 3.2)

    monkeypatch.setattr(engine, "submit_once", full)
    told = await batch(asker, [GOOD] * 2)
    assert (told.status, told.code, told.headers["retry-after"]) == (429, "overloaded", "4")
    assert told.json["retry_after_s"] == 3.2


async def test_keys_match_in_a_batch_and_before_it(asker: Asker, engine: Engine) -> None:
    first = await asker.ask("POST", "/v1/tasks", GOOD | {"key": "a"})
    told = await batch(asker, [GOOD | {"key": "a"}, GOOD | {"key": "b"}, GOOD | {"key": "b"}])
    assert (told.status, told.json["created"], told.json["existing"]) == (201, 1, 2)
    ids = [item["id"] for item in told.json["items"]]
    assert ids[0] == first.json["id"]
    assert ids[1] == ids[2]
    assert [item["matched_by"] for item in told.json["items"]] == ["key", None, "key"]
    assert {item["state"] for item in told.json["items"]} == {"ready"}
    assert await stored(engine) == 2


# -- bounds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "status"), [(10_000, 201), (10_001, 413)])
async def test_a_batch_has_at_most_10_000_items(
    asker: Asker, engine: Engine, count: int, status: int
) -> None:
    told = await batch(asker, [GOOD] * count, "?return=counts")
    assert told.status == status
    assert await stored(engine) == (count if status == 201 else 0)


async def test_lines_are_bounded_in_number_and_in_length(asker: Asker, engine: Engine) -> None:
    line = json.dumps(GOOD).encode()
    assert (await lines(asker, *[line] * 10_001)).status == 413
    long = json.dumps(GOOD | {"tags": ["x" * LINE_BYTES]}).encode()
    told = await lines(asker, line, long)
    assert (told.status, told.code) == (413, "too_large")
    assert await stored(engine) == 0


async def test_lines_may_come_in_any_pieces_and_end_without_a_break(
    asker: Asker, engine: Engine
) -> None:
    text = b"\n".join(json.dumps(GOOD | {"tags": [str(n)]}).encode() for n in range(50))
    pieces = [text[at : at + 7] for at in range(0, len(text), 7)]
    told = await lines(asker, chunks=pieces)
    assert (told.status, told.json["created"]) == (201, 50)
    told = await lines(asker, b"\r", json.dumps(GOOD).encode() + b"\r", b"", b"  ")
    assert (told.status, told.json["created"]) == (201, 1)


async def test_a_line_that_is_no_json_is_named(asker: Asker, engine: Engine) -> None:
    good = json.dumps(GOOD).encode()
    for broken in (b"{", b"[1]", b"\xff", b'{"kind": "\\ud800"}', b"[" * 100_000, b'"a" "b"'):
        told = await lines(asker, good, broken, query="?mode=per_item")
        assert (told.status, told.json["created"], told.json["refused"]) == (207, 1, 1)
        told = await lines(asker, good, broken)
        assert (told.status, told.json["errors"][0]["pointer"]) == (422, "/1")


@pytest.mark.parametrize("body", [b"", b"{}", b"[", b"7", b"null", b"[" * 100_000, b"\xff"])
async def test_what_is_no_array_is_unreadable(asker: Asker, body: bytes) -> None:
    told = await asker.ask("POST", "/v1/tasks/batch", raw=body)
    assert (told.status, told.code) == (400, "unreadable")


async def test_a_batch_of_nothing_is_refused(asker: Asker) -> None:
    assert (await batch(asker, [])).status == 422
    assert (await lines(asker, b"")).status == 422


@pytest.mark.parametrize("query", ["?mode=some", "?mode=", "?return=all", "?limit=1", "?mode"])
async def test_an_unknown_way_to_take_a_batch_is_refused(asker: Asker, query: str) -> None:
    assert (await batch(asker, [GOOD], query)).status in (400, 422)


# -- whose it is ----------------------------------------------------------------------------------


async def test_one_item_of_another_tenant_refuses_the_whole_batch(
    asker: Asker, engine: Engine
) -> None:
    for mode in ("all_or_nothing", "per_item"):
        items = [GOOD, GOOD | {"tenant": "other"}]
        told = await batch(asker.using("submit@board"), items, f"?mode={mode}")
        assert (told.status, told.code) == (403, "tenant_mismatch")
    assert await stored(engine) == 0


async def test_a_bound_keys_batch_belongs_to_its_tenant(asker: Asker) -> None:
    board = asker.using("submit@board")
    told = await batch(board, [GOOD, GOOD])
    assert told.status == 201
    path = f"/v1/batches/{told.json['id']}"
    assert (await board.ask("GET", path)).json["states"]["ready"] == 2
    assert (await asker.ask("GET", path)).status == 200
    foreign = await asker.using("read@other").ask("GET", path)
    absent = await asker.using("read@other").ask("GET", f"/v1/batches/{told.json['id'][:-1]}0")
    assert (foreign.status, foreign.code) == (absent.status, absent.code) == (404, "not_found")


# -- again, and afterwards ------------------------------------------------------------------------


async def test_a_batch_with_an_idempotency_key_is_stored_once(asker: Asker, engine: Engine) -> None:
    once = {"Idempotency-Key": "b-1"}
    for mode, items in (("all_or_nothing", [GOOD] * 3), ("per_item", [GOOD, BAD, GOOD])):
        once = {"Idempotency-Key": mode}
        first = await batch(asker, items, f"?mode={mode}", once)
        again = await batch(asker, items, f"?mode={mode}", once)
        assert (again.status, again.headers["idempotency-replayed"]) == (200, "true")
        assert again.json["id"] == first.json["id"]
        ids = [item["id"] for item in first.json["items"] if item["id"]]
        assert [item["id"] for item in again.json["items"]] == ids
        assert {item["matched_by"] for item in again.json["items"]} == {"idempotency_key"}
        other = await batch(asker, [GOOD], f"?mode={mode}", once)
        assert (other.status, other.code) == (422, "key_reused")
    assert await stored(engine) == 5


async def test_a_batch_that_was_refused_is_not_remembered(asker: Asker) -> None:
    once = {"Idempotency-Key": "b-2"}
    assert (await batch(asker, [BAD], "", once)).status == 422
    assert (await batch(asker, [GOOD], "", once)).status == 201


async def test_what_came_in_together_is_counted_by_state_for_a_week(
    asker: Asker, engine: Engine, clock: ManualClock
) -> None:
    told = await batch(asker, [GOOD, GOOD, GOOD | {"delay": 60}])
    ids = [item["id"] for item in told.json["items"]]
    path = f"/v1/batches/{told.json['id']}"
    await engine.cancel(ids[:1])
    shown = await asker.ask("GET", path)
    assert shown.status == 200
    counts = dict.fromkeys(State, 0) | {"ready": 1, "scheduled": 1, "cancelled": 1}
    assert shown.json == {
        "id": told.json["id"],
        "created_at": "2027-01-15T08:00:00.000000Z",
        "total": 3,
        "states": counts,
        "gone": 0,
    }
    clock.advance(7 * 86_400 + 1)
    await engine.prune()
    assert (await asker.ask("GET", path)).status == 404


@pytest.mark.parametrize(
    "batch_id", ["x", "0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44", "'", "%00", "a%2Fb"]
)
async def test_a_batch_that_is_not_there_is_not_found(asker: Asker, batch_id: str) -> None:
    assert (await asker.ask("GET", f"/v1/batches/{batch_id}")).status == 404
