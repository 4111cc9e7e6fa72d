"""Waiting for results, and changing many tasks at once, on both stores."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from rota import CancelOutcome, InvalidTask, Rota, State, TaskNotFound
from rota.backend import Backend
from rota.bulk import RUN
from rota.clock import ManualClock, instant, new_rng
from rota.config import MINUTE, SECOND
from rota.engine import Engine
from rota.errors import MoreThanExpected, StoreUnavailable, TaskFailed
from rota.model import RetryOutcome
from rota.reports import CancelReport, RetryReport
from rota.store import store_for
from rota.task import TaskKind
from tests.support.hands import Hands

NOBODY = "01234567-89ab-7def-8123-456789abcdef"


@pytest.fixture
def send(app: Rota) -> TaskKind[..., None]:
    """A kind of task."""

    @app.task(queue="sms")
    def send(n: int) -> None: ...

    return send


# -- results ----------------------------------------------------------------------------------


def test_a_result_is_returned_as_the_handler_gave_it(
    app: Rota, hands: Hands, send: TaskKind[..., None]
) -> None:
    accepted = send.submit(1)
    hands.complete("sms", '{"sent":[1,2],"at":null}')

    assert app.tasks.result(accepted.id) == {"sent": [1, 2], "at": None}


async def test_whoever_waits_gets_the_result_when_it_comes(
    app: Rota, hands: Hands, send: TaskKind[..., None]
) -> None:
    accepted = await send.asubmit(1)
    waiting = asyncio.ensure_future(app.tasks.aresult(accepted.id, timeout="30s"))
    await asyncio.to_thread(hands.complete, "sms", "7")

    assert await waiting == 7


def test_what_failed_or_was_cancelled_has_no_result(
    app: Rota, hands: Hands, send: TaskKind[..., None]
) -> None:
    cancelled = send.submit(1)
    app.tasks.cancel(cancelled.id)
    failed = send.submit(2)
    hands.fail("sms", "no route")

    with pytest.raises(TaskFailed, match=f"{cancelled.id} was cancelled"):
        app.tasks.result(cancelled.id)
    with pytest.raises(TaskFailed, match="failed: ConnectionError: no route") as caught:
        app.tasks.result(failed.id)
    assert (caught.value.state, caught.value.error_type) == (State.FAILED, "ConnectionError")


def test_a_result_is_waited_for_no_longer_than_said(app: Rota, send: TaskKind[..., None]) -> None:
    accepted = send.submit(1)

    with pytest.raises(TimeoutError, match="ready still"):
        app.tasks.result(accepted.id, timeout="50ms")
    with pytest.raises(TaskNotFound):
        app.tasks.result(NOBODY, timeout=1)
    with pytest.raises(InvalidTask, match="timeout"):
        app.tasks.result(accepted.id, timeout="soon")


async def test_pauses_between_looks_grow_to_a_second(still: Rota, clock: ManualClock) -> None:
    @still.task
    def send(n: int) -> None: ...

    accepted = await send.asubmit(1)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock.advance(seconds)

    clock.sleep = sleep  # type: ignore[method-assign]
    with pytest.raises(TimeoutError):
        await still.tasks.aresult(accepted.id, timeout=60)

    assert slept[0] == pytest.approx(0.02)
    assert max(slept) == 1.0
    assert sum(slept) == pytest.approx(60)
    assert slept[:-1] == sorted(slept[:-1])


# -- cancelling many ----------------------------------------------------------------------------


def test_a_filter_cancels_what_is_not_over_and_counts(
    app: Rota, hands: Hands, send: TaskKind[..., None]
) -> None:
    """R5.3: completed, accepted; what is over does not match."""
    send.submit(0)
    hands.complete("sms")
    running = [send.submit(n).id for n in range(3)]
    hands.take("sms")
    app.submit_many(send.bind(n) for n in range(5))
    app.submit_many(send.using(delay="1h").bind(n) for n in range(2))
    kept = send.using(queue="other").submit(9)

    foreseen = app.tasks.cancel_many(queue="sms", dry_run=True)
    unchanged = app.tasks.count()
    report = app.tasks.cancel_many(queue="sms", deadline="60s")

    assert foreseen == report == CancelReport(matched=10, completed=7, accepted=3)
    assert unchanged == {State.READY: 6, State.RUNNING: 3, State.SCHEDULED: 2, State.COMPLETED: 1}
    assert app.tasks.get(kept.id).state is State.READY
    assert all(app.tasks.get(id_).cancel_requested_at for id_ in running)


def test_an_empty_filter_is_refused_and_everything_is_said(
    app: Rota, send: TaskKind[..., None]
) -> None:
    """R5.3."""
    app.submit_many(send.bind(n) for n in range(3))

    refused: list[dict[str, Any]] = [
        {},
        {"queue": None},
        {"state": []},
        {"id_prefix": ""},
        {"all": True, "queue": "sms"},
        {"ids": [], "queue": "x"},
    ]
    for wrong in refused:
        with pytest.raises(InvalidTask, match="filter"):
            app.tasks.cancel_many(**wrong)
    with pytest.raises(InvalidTask, match="quue: is not a filter; did you mean 'queue'"):
        app.tasks.cancel_many(quue="sms")  # type: ignore[call-arg]

    assert app.tasks.count() == {State.READY: 3}
    assert app.tasks.cancel_many(all=True).completed == 3


def test_more_than_expected_changes_nothing(app: Rota, send: TaskKind[..., None]) -> None:
    """R5.3."""
    app.submit_many(send.bind(n) for n in range(4))

    with pytest.raises(MoreThanExpected, match="more than 3 tasks"):
        app.tasks.cancel_many(queue="sms", expect_at_most=3)

    assert app.tasks.count() == {State.READY: 4}
    assert app.tasks.cancel_many(queue="sms", expect_at_most=4).completed == 4


def test_many_are_cancelled_in_runs_and_what_comes_meanwhile_is_left_alone(
    app: Rota, send: TaskKind[..., None]
) -> None:
    """R5.3: keyset from the newest downward."""
    app.submit_many(send.bind(n) for n in range(2 * RUN + 1))
    seen: list[int] = []

    def on_progress(report: CancelReport) -> None:
        seen.append(report.matched)
        send.submit(len(seen))

    report = app.tasks.cancel_many(queue="sms", on_progress=on_progress)

    assert report.completed == 2 * RUN + 1
    assert seen == [RUN, 2 * RUN, 2 * RUN + 1]
    assert app.tasks.count(state="ready") == {State.READY: 3}


def test_ids_come_from_any_iterable_and_each_has_its_answer(
    app: Rota, send: TaskKind[..., None]
) -> None:
    """R5.1, case B137."""
    first, second = send.submit(1).id, send.submit(2).id
    app.tasks.cancel(second)
    read = []

    def ids() -> Iterator[str]:
        for text in (first.upper(), second, NOBODY, "nonsense", second):
            read.append(text)
            yield text

    outcomes = dict(app.tasks.cancel_each(ids()))

    assert outcomes == {
        first.upper(): CancelOutcome.COMPLETED,
        second: CancelOutcome.TOO_LATE,
        NOBODY: CancelOutcome.NOT_FOUND,
        "nonsense": CancelOutcome.NOT_FOUND,
    }
    assert len(read) == 5
    report = app.tasks.cancel_many([first, NOBODY], dry_run=True)
    assert report == CancelReport(matched=2, too_late=1, not_found=1)


def test_a_deadline_is_a_duration_or_an_instant(
    app: Rota, hands: Hands, send: TaskKind[..., None]
) -> None:
    """R5.2."""
    ids = [send.submit(n).id for n in range(2)]
    hands.take("sms")
    in_a_minute = instant(app._client.backend.clock.now() + MINUTE)

    assert app.tasks.cancel(ids[0], deadline="5m") is CancelOutcome.ACCEPTED
    assert app.tasks.cancel_many([ids[1]], deadline=in_a_minute).accepted == 1
    with pytest.raises(InvalidTask, match="deadline"):
        app.tasks.cancel_many(queue="sms", deadline="soon")


async def test_a_store_that_is_away_for_a_moment_ends_no_change(
    url: str, clock: ManualClock
) -> None:
    """R3.7: each run is repeated; what was done by a lost answer counts as it stands."""
    away = iter([True, False, True, False])

    class Flaky(Engine):
        async def cancel(
            self, ids: Sequence[str], deadline: int | None = None
        ) -> list[CancelOutcome]:
            if next(away, False):
                raise StoreUnavailable("gone for a moment")
            return await super().cancel(ids, deadline)

    class Site(Rota):
        def connect(self) -> Backend:
            return Flaky(store_for(self.url), clock, new_rng(1))

    async def sleep(seconds: float) -> None:
        clock.advance(seconds)

    clock.sleep = sleep  # type: ignore[method-assign]
    with Site(url) as app:
        app.migrate()

        @app.task
        def send(n: int) -> None: ...

        await app.asubmit_many(send.bind(n) for n in range(RUN + 1))
        report = await app.tasks.acancel_many(all=True)

    assert report == CancelReport(matched=RUN + 1, completed=RUN + 1)


async def test_the_awaited_faces_do_the_same(
    app: Rota, hands: Hands, send: TaskKind[..., None]
) -> None:
    await app.asubmit_many(send.bind(n) for n in range(3))
    ids = [task.id for task in await app.tasks.alist()]

    assert (await app.tasks.acancel_many(queue="sms", dry_run=True)).completed == 3
    outcomes = [pair async for pair in app.tasks.acancel_each(ids[:2])]
    report = await app.tasks.acancel_many(queue="sms")

    assert outcomes == [(id_, CancelOutcome.COMPLETED) for id_ in ids[:2]]
    assert report == CancelReport(matched=1, completed=1)
    assert await app.tasks.aretry_many(ids) == RetryReport(matched=3, not_retryable=3)


# -- retrying many ------------------------------------------------------------------------------


def test_a_filter_retries_what_failed_and_no_task_before_its_time(
    app: Rota, hands: Hands, send: TaskKind[..., None]
) -> None:
    """R2.3: what is merely scheduled is meant only when it is named."""
    failed = [send.submit(n).id for n in range(3)]
    hands.fail("sms")
    later = send.using(delay="1h").submit(9)

    assert app.tasks.retry_many(queue="sms", dry_run=True).completed == 3
    assert app.tasks.retry_many(queue="sms") == RetryReport(matched=3, completed=3)
    assert {app.tasks.get(id_).state for id_ in failed} == {State.READY}
    assert app.tasks.get(later.id).state is State.SCHEDULED
    assert app.tasks.retry_many(queue="sms", state="scheduled").completed == 1
    assert dict(app.tasks.retry_each(failed[:1])) == {failed[0]: RetryOutcome.NOT_RETRYABLE}


# -- reading ------------------------------------------------------------------------------------


def test_tasks_are_found_by_when_they_were_made_and_how_they_failed(
    app: Rota, hands: Hands, send: TaskKind[..., None]
) -> None:
    """R9.1: the span takes in its beginning and leaves out its end."""
    made = [app.tasks.get(send.submit(n).id) for n in range(3)]
    hands.fail("sms", "no route")
    start, end = instant(made[1].created_at), instant(made[2].created_at)

    found = app.tasks.list(created_from=start, created_to=end.isoformat())
    group = app.tasks.get(made[0].id).group

    assert [task.id for task in found] == [made[1].id]
    assert app.tasks.count(error_type="ConnectionError") == {State.FAILED: 3}
    assert app.tasks.count(error_type="KeyError") == {}
    assert app.tasks.count(group=group) == {State.FAILED: 3}
    with pytest.raises(InvalidTask, match="created_to: must lie after"):
        app.tasks.list(created_from=end, created_to=start)
    with pytest.raises(InvalidTask, match="time zone"):
        app.tasks.count(created_from="2026-11-30T10:00:00")
    with pytest.raises(InvalidTask, match="after"):
        app.tasks.list(after="nonsense")


def test_a_timeline_tells_what_happened(app: Rota, hands: Hands, send: TaskKind[..., None]) -> None:
    """R9.1."""
    accepted = send.submit(1)
    hands.fail("sms", permanent=False)
    app.tasks.retry(accepted.id)
    hands.fail("sms")

    assert [moment.what for moment in app.tasks.timeline(accepted.id)] == [
        "submitted", "attempt failed", "due", "started", "attempt failed", "failed",
    ]  # fmt: skip


def test_explain_says_why_a_task_waits(app: Rota, send: TaskKind[..., None]) -> None:
    """R7.8."""
    first, second = send.submit(1), send.submit(2)
    later = send.using(delay="1h").submit(3)

    def codes(task_id: str) -> list[str]:
        return [type(reason).__name__ for reason in app.tasks.explain(task_id).reasons]

    assert codes(later.id) == ["NotDue"]
    assert codes(second.id) == ["NoWorker", "InTurn"]
    hands = Hands(app, queues=("sms",), kinds=("send",))
    assert codes(second.id) == ["InTurn"]
    assert [app.tasks.explain(a.id).reasons[0].ahead for a in (first, second)] == [0, 1]  # type: ignore[union-attr]
    hands.take("sms", 1)
    (running,) = app.tasks.explain(first.id).reasons
    assert running.alive  # type: ignore[union-attr]
    assert running.worker == "worker-1"  # type: ignore[union-attr]
    app.tasks.cancel(second.id)
    assert codes(second.id) == ["Finished"]


# -- the app ------------------------------------------------------------------------------------


def test_an_app_at_another_address_has_the_same_kinds(
    app: Rota, send: TaskKind[..., None], tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = app.at(f"sqlite:///{tmp_path_factory.mktemp('other') / 'other.db'}")
    with other:
        other.submit("send", {"n": 1})
        assert other.tasks.count() == {State.READY: 1}
    assert app.tasks.count() == {}


def test_patience_is_how_long_a_call_waits_for_its_store() -> None:
    app = Rota("postgresql://rota@127.0.0.1:1/rota", patience="10ms")

    with app, pytest.raises(Exception, match=r"127\.0\.0\.1|reach|refused|connect"):
        app.tasks.count()
    assert app.patience == SECOND // 100
