"""A report counts if its session holds the task under that fence, and only once (R3.2)."""

from collections.abc import Callable

import msgspec
import pytest

from rota.config import ERRORS_KEPT, LEASE, MINUTE
from rota.model import AttemptError, Claimed, State, Task, Transition, rank_of
from rota.store.base import Store
from tests.conformance.steps import counts, one, open_worker, reap, take, take_all
from tests.support.factories import (
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
End = Callable[[Claimed], Transition]
EVERY_END = pytest.mark.parametrize(
    "end", [completed, cancelled, failed, again, lost], ids=lambda end: end.__name__
)


async def taken(store: Store, make: Make) -> tuple[str, Claimed, Task]:
    """A session, the task that it holds, and the task as it is read."""
    session = await open_worker(store, make)
    task = make.keyed("hold-17", tags=("exam",), headers='{"a":"b"}', timeout=5, payload="[1]")
    await store.submit([task], NOW)
    (claimed,) = await take(store, session, now=NOW + 3)
    return session, claimed, await one(store, task.id)


def changed(task: Task, **fields: object) -> Task:
    return msgspec.structs.replace(task, **fields)


def attempt_error(text: str) -> AttemptError:
    return msgspec.json.decode(text, type=AttemptError)


async def test_a_completed_task_keeps_its_story_and_its_result(store: Store, make: Make) -> None:
    """R9.1: who ran it, from when to when, and what came out."""
    session, claimed, before = await taken(store, make)

    assert await store.finish(session, [completed(claimed, '{"sent":[1,null]}')], THEN) == [True]

    assert await one(store, claimed.id) == changed(
        before, state=State.COMPLETED, finished_at=THEN, result={"sent": [1, None]}
    )


@pytest.mark.parametrize(
    ("result", "read"),
    [(None, None), ("null", None), ("0", 0), ("false", False), ('""', ""), ("[]", [])],
)
async def test_a_result_may_be_any_json(
    store: Store, make: Make, result: str | None, read: object
) -> None:
    """R9.1: what counts as nothing in Python is not nothing."""
    session, claimed, _ = await taken(store, make)

    await store.finish(session, [completed(claimed, result)], THEN)

    found = (await one(store, claimed.id)).result
    assert (type(found), found) == (type(read), read)


async def test_a_task_that_its_handler_cancels_is_over(store: Store, make: Make) -> None:
    """R4.2: cancelled, not failed."""
    session, claimed, before = await taken(store, make)

    assert await store.finish(session, [cancelled(claimed, "sold out")], THEN) == [True]

    assert await one(store, claimed.id) == changed(
        before, state=State.CANCELLED, finished_at=THEN, reason="sold out"
    )


async def test_a_failed_task_keeps_what_is_needed_to_replay_it(store: Store, make: Make) -> None:
    """R4.4: payload, errors and counters."""
    session, claimed, before = await taken(store, make)
    text = error(attempt=1, at=THEN)

    assert await store.finish(session, [failed(claimed, text, "no attempt left")], THEN) == [True]

    assert await one(store, claimed.id) == changed(
        before,
        state=State.FAILED,
        finished_at=THEN,
        errors=(attempt_error(text),),
        reason="no attempt left",
        group="2b9f1c07d3aa",
    )


async def test_a_retried_task_waits_for_its_time(store: Store, make: Make) -> None:
    """R4.1: with the counters it was given, held by nobody; then it runs under a new fence."""
    session, claimed, before = await taken(store, make)
    text = error()
    retry = again(claimed, LATER, text, attempt=3, lost=2, snoozes=1)

    assert await store.finish(session, [retry], THEN) == [True]

    assert await one(store, claimed.id) == changed(
        before,
        state=State.SCHEDULED,
        run_at=LATER,
        attempt=3,
        lost=2,
        snoozes=1,
        errors=(attempt_error(text),),
        session=None,
        started_at=None,
    )
    assert await take_all(store, session) == []
    await store.stage(LATER, 10)
    again_session = await open_worker(store, make, at=LATER)
    (second,) = await take(store, again_session, now=LATER)
    assert (second.fence, second.attempt, second.lost, second.snoozes) == (2, 4, 2, 1)


async def test_a_lost_task_is_ready_at_once_for_another_session(store: Store, make: Make) -> None:
    """R3.1: the lost lease is counted, and so is the attempt."""
    session, claimed, before = await taken(store, make)

    assert await store.finish(session, [lost(claimed, THEN)], THEN) == [True]

    read = await one(store, claimed.id)
    assert read == changed(
        before, state=State.READY, run_at=THEN, lost=1, session=None, started_at=None
    )
    assert await store.held(session, 10) == []
    heir = await open_worker(store, make)
    (second,) = await take(store, heir)
    assert (second.fence, second.attempt, second.lost) == (2, 2, 1)


async def test_a_task_that_is_handed_back_spends_no_attempt(store: Store, make: Make) -> None:
    """R3.6, B145: an orderly shutdown."""
    session, claimed, before = await taken(store, make)

    assert await store.finish(session, [handed_back(claimed, NOW)], THEN) == [True]

    assert await one(store, claimed.id) == changed(
        before, state=State.READY, attempt=0, session=None, started_at=None
    )


async def test_a_task_takes_the_place_in_its_lane_that_the_report_gives_it(
    store: Store, make: Make
) -> None:
    """R7.2: the rank of the transition counts, for those that are handed back and for retries."""
    session = await open_worker(store, make)
    tasks = make.tasks(4)
    await store.submit(tasks, NOW)
    held = await take(store, session)
    ranks = [NOW + 40, NOW + 10, NOW + 30, NOW + 20]
    reports = [
        Transition(task.id, task.fence, to, run_at=NOW, rank=rank)
        for task, rank, to in zip(held, ranks, [State.READY, State.SCHEDULED] * 2, strict=True)
    ]

    await store.finish(session, reports, NOW)
    await store.stage(NOW, 10)

    order = [task.id for task in await take(store, session)]
    assert order == [tasks[n].id for n in (1, 3, 2, 0)]


async def unchanged_by(store: Store, session: str, report: Transition) -> None:
    """The report is refused and nothing whatever has changed."""
    before = await one(store, report.id)
    tally = await counts(store)

    assert await store.finish(session, [report], LATER) == [False]

    assert await one(store, report.id) == before
    assert await counts(store) == tally


@EVERY_END
async def test_an_old_fence_changes_nothing(store: Store, make: Make, end: End) -> None:
    """R3.2, B126: even of the session that holds the task again."""
    session, claimed, _ = await taken(store, make)
    await store.finish(session, [lost(claimed)], NOW)
    await take(store, session)

    await unchanged_by(store, session, end(claimed))
    newer = msgspec.structs.replace(claimed, fence=claimed.fence + 2)
    await unchanged_by(store, session, end(newer))


@EVERY_END
async def test_a_report_of_another_session_changes_nothing(
    store: Store, make: Make, end: End
) -> None:
    """R3.2, S13: a fence alone could be guessed."""
    _, claimed, _ = await taken(store, make)

    await unchanged_by(store, await open_worker(store, make), end(claimed))
    await unchanged_by(store, make.id(), end(claimed))


@EVERY_END
@pytest.mark.parametrize(
    "first", [completed, cancelled, failed, again, lost], ids=lambda end: end.__name__
)
async def test_a_second_report_changes_nothing(
    store: Store, make: Make, first: End, end: End
) -> None:
    """B125: what is over stays as it is, whatever clean-up says afterwards."""
    session, claimed, _ = await taken(store, make)
    assert await store.finish(session, [first(claimed)], THEN) == [True]

    await unchanged_by(store, session, end(claimed))


async def test_a_report_on_a_task_that_nobody_knows_is_refused(store: Store, make: Make) -> None:
    """R3.2."""
    session, claimed, _ = await taken(store, make)
    unknown = msgspec.structs.replace(claimed, id=make.id())

    assert await store.finish(session, [completed(unknown)], THEN) == [False]


async def test_a_zombie_s_report_comes_too_late(store: Store, make: Make) -> None:
    """B109, B126, F2: it slept past its lease; meanwhile another has done the work."""
    zombie, claimed, _ = await taken(store, make)
    at = NOW + LEASE + 1
    assert await reap(store, at) == [claimed.id]
    heir = await open_worker(store, make, at=at)
    (second,) = await take(store, heir, now=at)
    await unchanged_by(store, zombie, completed(claimed, '"stale"'))

    assert await store.finish(heir, [completed(second, '"fresh"')], at) == [True]

    await unchanged_by(store, zombie, completed(claimed, '"stale"'))
    assert (await one(store, claimed.id)).result == "fresh"


@pytest.mark.parametrize("ended", ["closed", "expired"])
async def test_a_late_report_counts_as_long_as_nobody_took_the_task_away(
    store: Store, make: Make, ended: str
) -> None:
    """R3.2: the work is done; to do it again would help nobody."""
    session, claimed, _ = await taken(store, make)
    if ended == "closed":
        await store.close_session(session, NOW)
    else:
        await store.end_expired(NOW + LEASE + 1, 10)

    assert await store.finish(session, [completed(claimed)], LATER) == [True]


async def test_a_batch_is_answered_report_by_report(store: Store, make: Make) -> None:
    """R3.2: every way to end at once, stale ones between them."""
    session, other = await open_worker(store, make), await open_worker(store, make)
    await store.submit(make.tasks(60), NOW)
    held = await take(store, session, 50)
    foreign = await take(store, other, 10)
    ends = (completed, again, failed, lost, cancelled)
    reports = [ends[n % 5](task) for n, task in enumerate(held)]
    stale = [
        msgspec.structs.replace(report, fence=report.fence + n % 2 * 2 - 1)
        if n % 3 == 0
        else report
        for n, report in enumerate(reports)
    ]
    mixed = [
        report for pair in zip(stale[:10], map(completed, foreign), strict=True) for report in pair
    ]
    batch = [*mixed, *stale[10:]]

    applied = await store.finish(session, batch, THEN)

    right = {(report.id, report.fence) for report in reports}
    assert applied == [(report.id, report.fence) in right for report in batch]
    for report, done in zip(batch, applied, strict=True):
        assert (await one(store, report.id)).state is (report.to if done else State.RUNNING)


async def test_a_task_named_twice_in_a_batch_ends_once(store: Store, make: Make) -> None:
    """B125: a finished task is finished once."""
    session, claimed, _ = await taken(store, make)

    applied = await store.finish(session, [completed(claimed), failed(claimed)], THEN)

    assert sorted(applied) == [False, True]
    end = State.COMPLETED if applied[0] else State.FAILED
    assert await counts(store) == {end: 1}


async def test_reports_that_name_one_task_twice_are_told_apart(store: Store, make: Make) -> None:
    """B125: the answer is true of each: the first that holds applies, the others do not."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(6), NOW)
    tasks = await take(store, session)
    old = [msgspec.structs.replace(task, fence=task.fence - 1) for task in tasks]
    batch = [
        completed(old[0]),
        completed(tasks[0], "1"),
        failed(tasks[1]),
        completed(tasks[2], "2"),
        failed(tasks[2]),
        again(tasks[3]),
        again(tasks[3]),
        lost(tasks[4]),
        completed(tasks[4]),
        failed(tasks[5]),
        failed(old[5]),
    ]

    applied = await store.finish(session, batch, THEN)

    assert applied[:3] == [False, True, True]
    for n, (first, second) in enumerate([(3, 4), (5, 6), (7, 8), (9, 10)], start=2):
        assert sorted([applied[first], applied[second]]) == [False, True]
        winner = batch[first] if applied[first] else batch[second]
        assert (await one(store, tasks[n].id)).state is winner.to
    assert (await one(store, tasks[0].id)).result == 1


async def test_nothing_to_report_is_answered_with_nothing(store: Store, make: Make) -> None:
    """R3.2."""
    assert await store.finish(await open_worker(store, make), [], NOW) == []


async def test_two_thousand_reports_are_one_call(store: Store, make: Make) -> None:
    """Design §5: nothing is done once per task that can be done once per batch."""
    session = await open_worker(store, make)
    await store.submit(make.tasks(2000), NOW)
    held = await take(store, session, 2000)

    applied = await store.finish(session, [completed(task, "1") for task in held], THEN)

    assert applied == [True] * 2000
    assert await counts(store) == {State.COMPLETED: 2000}


async def test_errors_are_kept_in_order_the_first_and_the_newest(store: Store, make: Make) -> None:
    """R4.4: a task that fails for days does not grow without end."""
    session, claimed, _ = await taken(store, make)
    given = [error(attempt=n + 1, message=f"attempt {n + 1}") for n in range(ERRORS_KEPT + 9)]
    for text in given[:-1]:
        await store.finish(session, [again(claimed, at=NOW, error=text)], NOW)
        await store.stage(NOW, 1)
        (claimed,) = await take(store, session)
    await store.finish(session, [failed(claimed, given[-1])], NOW)

    kept = [given[0], *given[-(ERRORS_KEPT - 1) :]]
    assert (await one(store, claimed.id)).errors == tuple(map(attempt_error, kept))


@pytest.mark.parametrize("end", [completed, cancelled], ids=["completed", "cancelled"])
async def test_earlier_errors_outlive_a_later_success(store: Store, make: Make, end: End) -> None:
    """R4.4: also those of attempts that were handed back or lost, which add none."""
    session, claimed, _ = await taken(store, make)
    await store.finish(session, [again(claimed, at=NOW, error=error(1))], NOW)
    await store.stage(NOW, 1)
    (claimed,) = await take(store, session)
    await store.finish(session, [lost(claimed)], NOW)
    (claimed,) = await take(store, session)

    await store.finish(session, [end(claimed)], THEN)

    assert (await one(store, claimed.id)).errors == (attempt_error(error(1)),)


async def test_a_cancelled_end_may_carry_an_error(store: Store, make: Make) -> None:
    """R4.4."""
    session, claimed, _ = await taken(store, make)
    report = msgspec.structs.replace(cancelled(claimed), error=error(1))

    await store.finish(session, [report], THEN)

    assert (await one(store, claimed.id)).errors == (attempt_error(error(1)),)


async def test_counters_of_a_task_that_is_over_stay_as_they_are(store: Store, make: Make) -> None:
    """R9.1: a report that completes carries none."""
    session, claimed, _ = await taken(store, make)
    await store.finish(session, [again(claimed, at=NOW, attempt=2, lost=1, snoozes=4)], NOW)
    await store.stage(NOW, 1)
    (claimed,) = await take(store, session)

    await store.finish(session, [completed(claimed)], THEN + MINUTE)

    read = await one(store, claimed.id)
    assert (read.attempt, read.lost, read.snoozes, read.fence) == (3, 1, 4, 2)
    assert read.run_at == NOW
    assert rank_of(NOW, 5) > NOW
