"""A running task is asked to stop, and stopped if it does not; the request stays with it (R5)."""

from collections.abc import Callable

import msgspec
import pytest

from rota.config import LEASE, MINUTE, SECOND
from rota.model import Beat, CancelOutcome, CancelRequest, Claimed, Look, Micros, Note, State
from rota.model import Transition as Report
from rota.store.base import Store
from tests.conformance.steps import (
    bring,
    counts,
    heard,
    one,
    open_worker,
    reap,
    take,
    take_all,
)
from tests.support.factories import (
    LANE,
    LATER,
    NOW,
    Make,
    again,
    cancelled,
    completed,
    error,
    failed,
    handed_back,
    lost,
)

THEN = NOW + 7
DEADLINE = NOW + 10 * SECOND
ACCEPTED = CancelOutcome.ACCEPTED


async def running(store: Store, make: Make, count: int = 1) -> tuple[str, list[Claimed]]:
    """A session and the tasks that it holds."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(count), NOW)
    return session, await take(store, session, count)


async def test_the_next_beats_tell_what_is_asked_to_stop(store: Store, make: Make) -> None:
    """R5.2, B137: each beat until the task is over, so that no lost answer hides a request."""
    session, (first, second, third) = await running(store, make, 3)
    assert await heard(store, session, NOW) == Beat(alive=True)

    await store.cancel([third.id], THEN, DEADLINE)
    await store.cancel([first.id], THEN)

    asked = (CancelRequest(first.id, 1), CancelRequest(third.id, 1, DEADLINE))
    assert await heard(store, session, THEN) == Beat(True, asked)
    assert await heard(store, session, THEN + 1) == Beat(True, asked)
    await store.finish(session, [cancelled(third), completed(second)], THEN)
    assert await heard(store, session, THEN + 2) == Beat(True, asked[:1])
    await store.finish(session, [completed(first)], THEN)
    assert await heard(store, session, THEN + 3) == Beat(alive=True)


async def test_a_request_reaches_the_holder_alone(store: Store, make: Make) -> None:
    """R5.2: and nobody whose lease is over."""
    holder, (task,) = await running(store, make)
    bystander, _ = await running(store, make)
    await store.cancel([task.id], THEN)

    assert await heard(store, bystander, THEN) == Beat(alive=True)
    assert await heard(store, make.id(), THEN) == Beat(alive=False)
    assert await heard(store, holder, NOW + LEASE) == Beat(alive=False)


@pytest.mark.parametrize(
    ("deadlines", "left"),
    [
        ([None], None),
        ([None, DEADLINE], DEADLINE),
        ([DEADLINE, None], DEADLINE),
        ([DEADLINE, DEADLINE + 1], DEADLINE),
        ([DEADLINE + 1, DEADLINE], DEADLINE),
        ([None, None], None),
    ],
)
async def test_the_earliest_deadline_and_the_first_request_count(
    store: Store, make: Make, deadlines: list[Micros | None], left: Micros | None
) -> None:
    """R5.2: whoever asks later can hurry a task, and give it no more time."""
    session, (task,) = await running(store, make)

    for n, deadline in enumerate(deadlines):
        assert await store.cancel([task.id], THEN + n, deadline) == [ACCEPTED]

    assert (await heard(store, session, THEN)).cancels == (CancelRequest(task.id, 1, left),)
    assert (await one(store, task.id)).cancel_requested_at == THEN


async def test_a_waiting_task_is_cancelled_at_once_whatever_the_deadline(
    store: Store, make: Make
) -> None:
    """R5.1: a deadline is for those that run."""
    ready = await bring(store, make, State.READY)
    scheduled = await bring(store, make, State.SCHEDULED)

    outcomes = await store.cancel([ready.id, scheduled.id], THEN, LATER)

    assert outcomes == [CancelOutcome.COMPLETED] * 2
    assert await counts(store) == {State.CANCELLED: 2}


@pytest.mark.parametrize("end", [completed, cancelled, failed])
async def test_a_task_that_ends_by_itself_ends_as_its_handler_says(
    store: Store, make: Make, end: Callable[[Claimed], Report]
) -> None:
    """R5.1: it was asked, not ordered; whoever looks sees what became of it."""
    session, (task,) = await running(store, make)
    await store.cancel([task.id], THEN, DEADLINE)
    report = end(task)

    assert await store.finish(session, [report], DEADLINE - 1) == [True]

    assert await store.revoke_overdue(DEADLINE + 1, 10) == []
    assert await store.expire(DEADLINE + 1, 10) == 0
    assert (await one(store, task.id)).state is report.to


async def test_a_task_that_does_not_stop_by_its_deadline_is_cancelled(
    store: Store, make: Make
) -> None:
    """R5.2: its lease is revoked, and whatever its holder still says is refused."""
    session, (task, other) = await running(store, make, 2)
    await store.note(session, [Note(task.id, 1, 3, 5)])
    await store.cancel([task.id, other.id], THEN, DEADLINE)
    before = await one(store, task.id)
    await store.finish(session, [completed(other)], THEN)

    assert await store.revoke_overdue(DEADLINE - 1, 10) == []
    assert await store.revoke_overdue(DEADLINE, 10) == [task.id]

    assert await one(store, task.id) == msgspec.structs.replace(
        before,
        state=State.CANCELLED,
        finished_at=DEADLINE,
        reason="cancelled: its handler did not stop by the deadline",
        cancel_requested_at=None,
    )
    assert await store.finish(session, [completed(task)], DEADLINE) == [False]
    assert await store.note(session, [Note(task.id, 1, 4)]) == [False]
    assert await store.held(session, 10) == []
    assert await heard(store, session, DEADLINE) == Beat(alive=True)
    assert await store.revoke_overdue(DEADLINE, 10) == []


async def test_the_deadline_holds_when_the_holder_is_gone(store: Store, make: Make) -> None:
    """R5.2: a task whose session has ended is revoked before anybody has reaped it."""
    session, (task,) = await running(store, make)
    await store.cancel([task.id], THEN, DEADLINE)
    await store.close_session(session, THEN)

    assert await store.revoke_overdue(DEADLINE, 10) == [task.id]

    assert await reap(store, DEADLINE) == []


async def test_without_a_deadline_a_task_is_never_revoked(store: Store, make: Make) -> None:
    """R5.2: a handler without a checkpoint may take its time."""
    session, (task,) = await running(store, make)
    await store.cancel([task.id], THEN)

    assert await store.revoke_overdue(LATER, 10) == []

    assert await store.finish(session, [completed(task)], LATER) == [True]


async def test_a_hundred_that_ignore_it_are_ended_in_steps(store: Store, make: Make) -> None:
    """R5.2: the longest overdue first, at most `limit` a call, each once; no report counts."""
    session, tasks = await running(store, make, 100)
    for n, task in enumerate(reversed(tasks)):
        await store.cancel([task.id], THEN, DEADLINE + n)

    met: list[str] = []
    while revoked := await store.revoke_overdue(DEADLINE + 100, 30):
        assert len(revoked) <= 30
        met += revoked

    assert [sorted(met[n : n + 30]) for n in (0, 30, 60, 90)] == [
        sorted(task.id for task in tasks[::-1][n : n + 30]) for n in (0, 30, 60, 90)
    ]
    assert await counts(store) == {State.CANCELLED: 100}
    reports = [completed(task) for task in tasks]
    assert await store.finish(session, reports, DEADLINE) == [False] * 100


RETURNS = [lost, handed_back, again]


@pytest.mark.parametrize("back", RETURNS)
async def test_a_task_that_comes_back_after_it_was_asked_is_not_handed_out_again(
    store: Store, make: Make, back: Callable[[Claimed], Report]
) -> None:
    """R5.2, B137: lost, handed back or retried; the request stays, and `expire` carries it out."""
    session, (task,) = await running(store, make)
    await store.cancel([task.id], THEN, DEADLINE)
    await store.finish(session, [back(task)], THEN)
    at = NOW + MINUTE
    assert (await one(store, task.id)).cancel_requested_at == THEN

    look = Look(LANE.queue, LANE.cls)
    for staged in (False, True):
        if staged:
            await store.stage(at, 10)
        worker = await open_worker(store, make, at=at)
        assert (await store.lanes([look], 10)).lanes == []
        assert await take_all(store, worker, now=at) == []
    assert await store.revoke_overdue(at, 10) == [], "it does not run"
    assert await store.expire(at, 10) == 1

    read = await one(store, task.id)
    assert (read.state, read.reason) == (State.CANCELLED, "cancelled by request")
    assert (read.finished_at, read.started_at, read.session) == (at, None, None)
    assert await store.expire(at, 10) == 0


async def test_a_retry_that_was_asked_to_stop_is_cancelled_before_its_time(
    store: Store, make: Make
) -> None:
    """R5.2: nobody waits an hour to learn that it will not run; at most `limit` a call."""
    session, tasks = await running(store, make, 5)
    await store.cancel([task.id for task in tasks[1:]], THEN)
    await store.finish(session, [again(task, LATER) for task in tasks], THEN)

    assert [await store.expire(THEN, 3) for _ in range(3)] == [3, 1, 0]

    assert await counts(store) == {State.CANCELLED: 4, State.SCHEDULED: 1}
    assert (await one(store, tasks[0].id)).state is State.SCHEDULED


@pytest.mark.parametrize("back", RETURNS)
async def test_a_task_that_came_back_can_be_cancelled_at_once(
    store: Store, make: Make, back: Callable[[Claimed], Report]
) -> None:
    """R5.1: it does not run any more."""
    session, (task,) = await running(store, make)
    await store.cancel([task.id], THEN)
    await store.finish(session, [back(task)], THEN)

    assert await store.cancel([task.id], THEN) == [CancelOutcome.COMPLETED]

    assert await store.expire(LATER, 10) == 0
    assert await counts(store) == {State.CANCELLED: 1}


async def test_a_task_that_was_asked_keeps_no_other_from_its_turn(store: Store, make: Make) -> None:
    """R5.2: wherever it would stand in its lane, the ones behind it are next."""
    session, tasks = await running(store, make, 6)
    asked = [tasks[n].id for n in (0, 2, 3, 5)]
    await store.cancel(asked, THEN)
    await store.finish(session, [handed_back(task) for task in tasks], THEN)

    assert [task.id for task in await take(store, session)] == [tasks[1].id, tasks[4].id]
    assert await store.expire(THEN, 10) == 4


async def test_a_tenant_of_which_all_was_asked_has_no_lane(store: Store, make: Make) -> None:
    """R5.2, R7.3: claims pass it by."""
    session = await open_worker(store, make)
    for tenant in "abc":
        await store.submit([make.task(tenant=tenant)], NOW)
        lane = msgspec.structs.replace(LANE, tenant=tenant)
        (task,) = await take(store, session, lane=lane)
        if tenant == "b":
            await store.cancel([task.id], THEN)
        await store.finish(session, [handed_back(task)], THEN)

    for after, tenants in ((None, "ac"), ("a", "ca"), ("b", "ca")):
        lanes = (await store.lanes([Look(LANE.queue, LANE.cls, after)], 10)).lanes
        assert "".join(lane.tenant for lane in lanes) == tenants


async def test_what_came_back_and_what_expired_share_a_limit(store: Store, make: Make) -> None:
    """F56: at most `limit` a call, whatever ends them; one for which both hold ends once."""
    session, tasks = await running(store, make, 8)
    await store.cancel([task.id for task in tasks], THEN)
    await store.finish(session, [handed_back(task) for task in tasks[:4]], THEN)
    await store.finish(session, [again(task, LATER) for task in tasks[4:]], THEN)
    late = {"expires_at": THEN}
    await store.submit([make.task(**late), make.task(run_at=LATER, **late)], NOW)

    steps = []
    while ended := await store.expire(THEN, 3):
        steps.append(ended)

    assert (sum(steps), max(steps)) == (10, 3)
    assert await counts(store) == {State.CANCELLED: 10}


async def test_a_dead_letter_that_is_retried_was_asked_nothing(store: Store, make: Make) -> None:
    """R4.4, R5.2: the request ended with the task; a person wants it to run."""
    session, (task,) = await running(store, make)
    await store.cancel([task.id], THEN, DEADLINE)
    await store.finish(session, [failed(task, error())], THEN)

    await store.retry([task.id], LATER)

    assert await store.expire(LATER, 10) == 0
    worker = await open_worker(store, make, at=LATER)
    (claimed,) = await take(store, worker, now=LATER)
    assert (claimed.id, (await one(store, task.id)).cancel_requested_at) == (task.id, None)
    assert await store.revoke_overdue(LATER + 1, 10) == []
