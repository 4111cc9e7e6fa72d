"""Dead letters: found, grouped, corrected, replayed once each, set aside and back (R4.4)."""

import asyncio

import pytest

from rota import InvalidTask, Rota, State, TaskNotFound
from rota.bulk import RUN
from rota.clock import ManualClock
from rota.errors import DeadLetterSettled, MoreThanExpected
from rota.model import Task
from rota.reports import ReplayReport, SettleReport
from rota.task import TaskKind
from tests.support.hands import Hands

NOBODY = "01234567-89ab-7def-8123-456789abcdef"


@pytest.fixture
def send(app: Rota) -> TaskKind[..., None]:
    """A kind of task."""

    @app.task(queue="sms")
    def send(n: int) -> None: ...

    return send


def failed(
    app: Rota, hands: Hands, send: TaskKind[..., None], count: int, message: str = "no route"
) -> list[str]:
    """The ids of so many dead letters, newest first."""
    app.submit_many(send.bind(n) for n in range(count))
    hands.fail("sms", message)
    return [task.id for task in app.dead_letters.list(limit=500)][:count]


def copies(app: Rota) -> list[Task]:
    """The tasks that replays have made."""
    return [task for task in app.tasks.list(state="ready", limit=500) if task.replay_of]


def test_what_failed_alike_is_grouped_and_found_by_its_group(
    app: Rota, hands: Hands, send: TaskKind[..., None]
) -> None:
    """R4.4."""
    for message in ("timed out after 30 s", "timed out after 7 s", "no such number: 4711"):
        failed(app, hands, send, 1, message)

    first, second = app.dead_letters.groups()

    assert (first.shape, first.count) == ("timed out after <n> s", 2)
    assert (second.count, second.error_type, second.kind) == (1, "ConnectionError", "send")
    found = app.dead_letters.list(group=first.id)
    assert next(task.id for task in found) == first.sample
    assert {task.group for task in found} == {first.id}
    assert len(app.dead_letters.list(error_type="ConnectionError")) == 3
    assert app.dead_letters.groups(queue="mail") == []
    with pytest.raises(InvalidTask, match="state: is not a filter"):
        app.dead_letters.list(state="ready")  # type: ignore[call-arg]


def test_only_what_failed_is_a_dead_letter(
    app: Rota, hands: Hands, send: TaskKind[..., None]
) -> None:
    (dead,) = failed(app, hands, send, 1)
    ready = send.submit(1)

    assert app.dead_letters.get(dead).errors[-1].message == "no route"
    for unknown in (ready.id, NOBODY, "nonsense"):
        with pytest.raises(TaskNotFound):
            app.dead_letters.get(unknown)
    report = app.dead_letters.replay([ready.id, NOBODY, "nonsense"])
    assert report == ReplayReport(matched=3, skipped=3)


def test_a_replay_makes_a_linked_task_once(
    app: Rota, hands: Hands, send: TaskKind[..., None]
) -> None:
    """R4.4: idempotent for each dead letter."""
    (dead,) = failed(app, hands, send, 1)

    first = app.dead_letters.replay(dead)
    again = app.dead_letters.replay([dead, dead])

    assert (first.made, again.made, again.existing) == (1, 0, 1)
    (copy,) = copies(app)
    assert copy.replay_of == dead
    assert app.dead_letters.get(dead).replayed_as == copy.id
    assert (copy.payload, copy.attempt, copy.errors) == ({"n": 0}, 0, ())
    assert app.tasks.timeline(copy.id)[0].detail == f"replay of {dead}"
    assert [m.detail for m in app.tasks.timeline(dead) if m.what == "replayed"] == [f"as {copy.id}"]


def test_a_filter_is_replayed_in_runs_and_told_in_numbers(
    app: Rota, hands: Hands, send: TaskKind[..., None]
) -> None:
    """R4.4."""
    failed(app, hands, send, RUN + 10)
    (group,) = app.dead_letters.groups()
    seen: list[int] = []

    foreseen = app.dead_letters.replay(group=group.id, dry_run=True)
    with pytest.raises(MoreThanExpected):
        app.dead_letters.replay(group=group.id, expect_at_most=RUN)
    assert copies(app) == []
    report = app.dead_letters.replay(
        group=group.id, on_progress=lambda so_far: seen.append(so_far.made)
    )

    assert foreseen == report == ReplayReport(matched=RUN + 10, made=RUN + 10)
    assert seen == [RUN, RUN + 10]
    assert app.dead_letters.replay(group=group.id).made == 0
    assert app.tasks.count(state="ready") == {State.READY: RUN + 10}
    with pytest.raises(InvalidTask, match="filter: is empty"):
        app.dead_letters.replay()


async def test_a_replay_keeps_to_its_rate(still: Rota, clock: ManualClock) -> None:
    """R4.4: throttled by the clock that is handed in."""

    @still.task(queue="sms")
    def send(n: int) -> None: ...

    await still.asubmit_many(send.bind(n) for n in range(100))
    await asyncio.to_thread(lambda: Hands(still).fail("sms"))
    slept: list[float] = []
    made: list[tuple[float, int]] = []
    began = clock.monotonic()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock.advance(seconds)

    clock.sleep = sleep  # type: ignore[method-assign]
    report = await still.dead_letters.areplay(
        queue="sms",
        rate=50,
        on_progress=lambda so_far: made.append((clock.monotonic() - began, so_far.made)),
    )

    assert report.made == 100
    assert all(count <= 5 + 50 * at + 1e-6 for at, count in made)
    assert sum(slept) == pytest.approx(1.9)
    for wrong in (0, -1, float("nan"), float("inf")):
        with pytest.raises(InvalidTask, match="rate"):
            await still.dead_letters.areplay(queue="sms", rate=wrong)


def test_a_payload_is_corrected_and_checked_by_its_kind(
    app: Rota, url: str, hands: Hands, send: TaskKind[..., None]
) -> None:
    """R4.4, R1.6."""
    (dead,) = failed(app, hands, send, 1)

    with pytest.raises(InvalidTask, match=r"payload\.n"):
        app.dead_letters.edit(dead, {"n": "seven"})
    with pytest.raises(InvalidTask, match="payload: must be an object"):
        app.dead_letters.edit(dead, [7])  # type: ignore[arg-type]
    assert app.dead_letters.get(dead).payload == {"n": 0}
    app.dead_letters.edit(dead, {"n": 7})
    assert app.dead_letters.get(dead).payload == {"n": 7}
    with Rota(url) as stranger:  # knows no kind, so it can check none
        stranger.dead_letters.edit(dead, {"m": 8})
        with pytest.raises(InvalidTask, match="payload"):
            stranger.dead_letters.edit(dead, {"n": float("nan")})

    app.dead_letters.edit(dead, {"n": 9})
    app.dead_letters.replay(dead)
    assert copies(app)[0].payload == {"n": 9}
    with pytest.raises(DeadLetterSettled, match="was replayed as"):
        app.dead_letters.edit(dead, {"n": 10})
    with pytest.raises(TaskNotFound):
        app.dead_letters.edit(NOBODY, {"n": 1})


def test_a_discard_has_a_reason_and_can_be_undone(
    app: Rota, hands: Hands, send: TaskKind[..., None]
) -> None:
    """R4.4."""
    ids = failed(app, hands, send, 3)

    report = app.dead_letters.discard(ids[:2], reason="the exam was moved")

    assert report == SettleReport(matched=2, done=2)
    assert [task.id for task in app.dead_letters.list()] == ids[2:]
    assert [task.id for task in app.dead_letters.list(discarded=True)] == ids[:2]
    assert app.dead_letters.groups()[0].count == 1
    assert app.dead_letters.replay(ids[0]).skipped == 1
    with pytest.raises(DeadLetterSettled, match="was discarded"):
        app.dead_letters.edit(ids[0], {"n": 1})
    assert app.dead_letters.discard(ids[:1], reason="again").skipped == 1
    assert app.dead_letters.restore(queue="sms", dry_run=True).done == 2
    assert app.dead_letters.restore(queue="sms").done == 2
    assert app.dead_letters.discard(all=True, reason="all of it").done == 3
    assert app.dead_letters.restore(ids).done == 3
    for wrong in ("", "  ", "x" * 256, "a\0b"):
        with pytest.raises(InvalidTask, match="reason"):
            app.dead_letters.discard(ids, reason=wrong)


async def test_the_awaited_faces_do_the_same(
    app: Rota, hands: Hands, send: TaskKind[..., None]
) -> None:
    ids = await asyncio.to_thread(failed, app, hands, send, 2)

    await app.dead_letters.aedit(ids[0], {"n": 5})
    assert (await app.dead_letters.aget(ids[0])).payload == {"n": 5}
    assert [g.count for g in await app.dead_letters.agroups()] == [2]
    assert (await app.dead_letters.adiscard(ids[:1], reason="x")).done == 1
    assert (await app.dead_letters.arestore(ids)).done == 1
    pairs = [pair async for pair in app.dead_letters.areplay_each(ids)]
    assert [id_ for id_, made in pairs if made and made.created] == ids
    assert len(await app.dead_letters.alist()) == 2
    assert (await app.dead_letters.areplay(all=True)).existing == 2
