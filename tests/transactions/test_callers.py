"""Tasks belong to the transaction of whatever connection the caller has (R1.3)."""

from collections.abc import Iterator
from typing import Any

import pytest

from rota import Call, CancelOutcome, InvalidTask, Rota, State, TaskKind, TaskNotFound
from rota.errors import ConfigurationError
from tests.transactions.callers import Caller
from tests.transactions.elsewhere import Elsewhere

Send = TaskKind[[int], None]


async def test_a_task_is_there_once_when_its_transaction_commits(
    caller: Caller, send: Send, elsewhere: Elsewhere
) -> None:
    """R1.3: together with what the caller wrote, and never before; then it runs."""
    await caller.begin()
    await caller.order(1)
    accepted = await caller.submit(send, 1)
    assert (await elsewhere.orders(), await elsewhere.tasks()) == (0, 0)

    await caller.commit()

    assert accepted.created
    assert await elsewhere.orders() == 1
    assert await elsewhere.work() == [accepted.id]
    assert await elsewhere.work() == []


async def test_a_task_is_never_there_when_its_transaction_is_rolled_back(
    caller: Caller, send: Send, elsewhere: Elsewhere
) -> None:
    """R1.3: the connection is good for the next transaction."""
    await caller.begin()
    await caller.order(1)
    await caller.submit(send, 1)
    await caller.submit(send, 2, delay="1h", key="order-2")
    await caller.rollback()
    assert (await elsewhere.orders(), await elsewhere.tasks()) == (0, 0)

    await caller.begin()
    accepted = await caller.submit(send, 3)
    await caller.commit()

    assert await elsewhere.work() == [accepted.id]


async def test_the_first_statement_of_a_transaction_may_be_ours(
    caller: Caller, send: Send, elsewhere: Elsewhere
) -> None:
    """R1.3: where the driver begins by itself, it is begun as the driver would."""
    await caller.begin()
    await caller.submit(send, 1)
    await caller.order(1)
    await caller.rollback()

    assert (await elsewhere.orders(), await elsewhere.tasks()) == (0, 0)


async def test_a_savepoint_that_is_rolled_back_takes_its_tasks_along(
    caller: Caller, send: Send, elsewhere: Elsewhere
) -> None:
    """R1.3: and leaves those before and after it."""
    await caller.begin()
    await caller.order(1)
    ids = [(await caller.submit(send, 1)).id]
    async with caller.savepoint(keep=False):
        await caller.order(2)
        await caller.submit(send, 2, key="order")
    async with caller.savepoint(keep=True):
        ids.append((await caller.submit(send, 3, key="order")).id)
    await caller.commit()

    assert await elsewhere.orders() == 1
    assert sorted(await elsewhere.work()) == sorted(ids)


async def test_many_are_there_together_or_not_at_all(
    caller: Caller, app: Rota, send: Send, elsewhere: Elsewhere
) -> None:
    """R1.3: however many batches they are."""
    calls = [send.bind(n) for n in range(2_500)]
    await caller.begin()
    await caller.submit_many(app, calls)
    await caller.rollback()
    assert await elsewhere.tasks() == 0

    await caller.begin()
    submitted = await caller.submit_many(app, iter(calls))
    await caller.commit()

    assert (submitted.created, submitted.existing) == (2_500, 0)
    assert await elsewhere.tasks() == 2_500


async def test_a_key_returns_the_first_task_in_the_transaction_too(
    caller: Caller, app: Rota, send: Send, elsewhere: Elsewhere
) -> None:
    """R1.4, cases B106, B107: a rollback gives the key back, a commit keeps it."""
    await caller.begin()
    lost = await caller.submit(send, 1, key="order-1")
    await caller.rollback()

    await caller.begin()
    first = await caller.submit(send, 1, key="order-1")
    again = await caller.submit(send, 2, key="order-1")
    keyed = [send.using(key=key).bind(3) for key in ("order-1", "order-2", "order-2")]
    counted = await caller.submit_many(app, keyed)
    await caller.commit()
    await caller.close()
    outside = app.submit_many(keyed)

    assert lost.created
    assert first.created
    assert (again.id, again.created) == (first.id, False)
    assert (counted.created, counted.existing) == (1, 2)
    assert outside.created == 0
    assert app.tasks.get(first.id).payload == {"n": 1}


async def test_options_are_those_of_outside(caller: Caller, app: Rota, send: Send) -> None:
    """R1.1: what is stored is the same, byte for byte, but for the id and the times."""
    options: dict[str, Any] = {
        "queue": "slow",
        "tenant": "board",
        "priority": 1,
        "run_at": "2099-01-01T00:00:00Z",
        "timeout": 30,
        "expires_at": "2099-01-02T00:00:00Z",
        "tags": ["results", "2026"],
        "headers": {"trace": 'a"b'},
    }
    await caller.begin()
    inside = await caller.submit(send, 7, **options)
    await caller.commit()
    await caller.close()
    outside = await send.using(**options).asubmit(7)

    one, other = app.tasks.get(inside.id), app.tasks.get(outside.id)
    for field in (*options, "payload", "state", "kind", "key", "retry", "attempt", "fence"):
        assert getattr(one, field) == getattr(other, field), field
    assert one.state is State.SCHEDULED
    assert abs(one.created_at - other.created_at) < 60_000_000


async def test_a_refused_task_leaves_the_transaction_as_it_was(
    caller: Caller, app: Rota, send: Send, elsewhere: Elsewhere
) -> None:
    """R1.6: nothing of a batch with a bad item is stored, and the caller goes on."""

    def calls() -> Iterator[Call]:
        yield send.bind(1)
        yield send.using(priority=11).bind(2)

    await caller.begin()
    await caller.order(1)
    with pytest.raises(InvalidTask, match="priority"):
        await caller.submit(send, 1, priority=11)
    with pytest.raises(InvalidTask, match="item 1"):
        await caller.submit_many(app, calls())
    accepted = await caller.submit(send, 1)
    await caller.commit()

    assert await elsewhere.orders() == 1
    assert await elsewhere.work() == [accepted.id]


async def test_a_cancel_counts_when_its_transaction_commits(
    caller: Caller, app: Rota, send: Send, elsewhere: Elsewhere
) -> None:
    """R1.3, R5.1: not before, and not if it is rolled back."""
    await caller.begin()
    kept = await caller.submit(send, 1)
    gone = await caller.submit(send, 2, delay="1h")
    await caller.commit()

    await caller.begin()
    assert await caller.cancel(app, kept.id) is CancelOutcome.COMPLETED
    await caller.rollback()
    await caller.begin()
    assert await caller.cancel(app, gone.id.upper()) is CancelOutcome.COMPLETED
    assert await caller.cancel(app, gone.id) is CancelOutcome.TOO_LATE
    assert await elsewhere.tasks() == 2
    with pytest.raises(TaskNotFound):
        await caller.cancel(app, "01a22d73-0000-7000-8000-000000000000")
    await caller.commit()

    assert await elsewhere.work() == [kept.id]
    await caller.close()
    assert app.tasks.get(gone.id).state is State.CANCELLED


async def test_the_face_that_does_not_go_with_the_connection_is_refused(
    caller: Caller, app: Rota, send: Send
) -> None:
    """R1.6: it says which one does; nothing is done."""
    own = send.using(connection=caller.connection)
    calls = [send.bind(1)]

    if caller.awaits:
        with pytest.raises(ConfigurationError, match="an `a` before"):
            own.submit(1)
        with pytest.raises(ConfigurationError, match="an `a` before"):
            app.submit_many(calls, connection=caller.connection)
    else:
        with pytest.raises(ConfigurationError, match="without an `a`"):
            await own.asubmit(1)
        with pytest.raises(ConfigurationError, match="without an `a`"):
            await app.asubmit_many(calls, connection=caller.connection)


async def test_without_a_transaction_a_task_is_there_at_once(
    caller: Caller, send: Send, elsewhere: Elsewhere
) -> None:
    """R1.3: whole, whatever it takes to store it."""
    await caller.close()
    await caller.open(autocommit=True)

    accepted = await caller.submit(send, 1, key="order-1")
    again = await caller.submit(send, 2, key="order-1")

    assert again.id == accepted.id
    assert await elsewhere.work() == [accepted.id]
