"""What a user does with an app, on both stores."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from rota import (
    Backoff,
    BatchRefused,
    Call,
    CancelOutcome,
    ConfigurationError,
    Context,
    InvalidTask,
    NotRetryable,
    Rota,
    State,
    TaskNotFound,
    UnknownKind,
)
from rota.client import BATCH
from rota.task import TaskKind


@pytest.fixture
def send(app: Rota) -> TaskKind[..., None]:
    """A kind of task."""

    @app.task(queue="sms", priority=2, timeout=30)
    def send(student_id: int, phone: str = "") -> None: ...

    return send


def test_a_task_is_read_back_as_it_was_submitted(app: Rota, send: TaskKind[..., None]) -> None:
    """R1.1, R1.2."""
    accepted = send.using(
        tenant="board", key="r-1", tags=["results"], headers={"trace": "7"}, retry=Backoff(base=1)
    ).submit(1, phone="+91")

    task = app.tasks.get(accepted.id)

    assert accepted.created
    assert (task.kind, task.queue, task.tenant, task.priority) == ("send", "sms", "board", 2)
    assert task.payload == {"student_id": 1, "phone": "+91"}
    assert (task.state, task.key, task.tags) == (State.READY, "r-1", ("results",))
    assert (task.headers, task.timeout) == ({"trace": "7"}, 30_000_000)
    assert task.retry is not None
    assert task.retry["base"] == 1.0


def test_a_delayed_task_is_scheduled(app: Rota, send: TaskKind[..., None]) -> None:
    """R2.1."""
    task = app.tasks.get(send.using(delay="15m").submit(1).id)

    assert State.SCHEDULED is task.state
    assert task.run_at - task.created_at == 15 * 60 * 1_000_000


def test_a_key_returns_the_first_task_and_says_so(app: Rota, send: TaskKind[..., None]) -> None:
    """R1.4, case B107."""
    first = send.using(key="hold-17").submit(1)
    again = send.using(key="hold-17").submit(2)
    elsewhere = send.using(key="hold-17", tenant="other").submit(3)

    assert (first.created, again.created, elsewhere.created) == (True, False, True)
    assert first.id == again.id != elsewhere.id


async def test_the_awaited_face_does_the_same(app: Rota, send: TaskKind[..., None]) -> None:
    """R1.3."""
    answers = await asyncio.gather(*(send.asubmit(n) for n in range(50)))
    many = await app.asubmit_many(send.bind(n) for n in range(50))
    task = await app.tasks.aget(answers[7].id)
    counts = await app.tasks.acount()

    assert (many.created, task.payload) == (50, {"student_id": 7})
    assert counts == {State.READY: 100}


async def test_an_asynchronous_source_is_streamed(app: Rota, send: TaskKind[..., None]) -> None:
    """R1.5."""

    async def calls() -> AsyncIterator[Call]:
        for number in range(BATCH + 1):
            yield send.bind(number)

    assert (await app.asubmit_many(calls())).created == BATCH + 1
    assert len([answer async for answer in app.asubmit_each(map(send.bind, range(3)))]) == 3


def test_many_are_streamed_and_never_all_in_memory(app: Rota, send: TaskKind[..., None]) -> None:
    """R1.5: the source is read no further ahead than three batches."""
    read = stored = ahead = 0

    def calls() -> Iterator[Call]:
        nonlocal read
        for number in range(5 * BATCH):
            read += 1
            yield send.bind(number)

    for _ in app.submit_each(calls()):
        stored += 1
        ahead = max(ahead, read - stored)

    assert stored == 5 * BATCH
    assert ahead <= 3 * BATCH


def test_large_payloads_are_sent_before_they_fill_the_memory(app: Rota) -> None:
    """R1.5: bounded by size as well as by number."""
    read = 0

    @app.task
    def send_text(text: str) -> None: ...

    def calls() -> Iterator[Call]:
        nonlocal read
        for _ in range(100):
            read += 1
            yield send_text.bind("x" * 200_000)

    next(iter(app.submit_each(calls())))

    assert read < 80


def test_a_large_input_is_cut_into_small_tasks_by_one_call(app: Rota) -> None:
    """R1.5."""

    @app.task
    def send_results(students: list[int], exam: str) -> None: ...

    calls = send_results.using(tenant="board", key="2026").split(range(1_250), exam="2026")
    first = app.submit_many(calls)
    calls = send_results.using(tenant="board", key="2026").split(range(1_250), exam="2026")
    again = app.submit_many(calls)

    assert (first.created, first.existing) == (3, 0)
    assert (again.created, again.existing) == (0, 3)
    sizes = sorted(len(task.payload["students"]) for task in app.tasks.list())
    assert sizes == [250, 500, 500]


def test_splitting_needs_to_know_which_parameter_takes_the_items(app: Rota) -> None:
    @app.task
    def two(a: list[int], b: list[int]) -> None: ...

    with pytest.raises(ConfigurationError, match="into="):
        next(two.split([1, 2]))
    with pytest.raises(ConfigurationError, match="at least 1"):
        two.split([1], into="a", size=0)


def test_a_batch_with_a_fault_stores_nothing_of_it(app: Rota, send: TaskKind[..., None]) -> None:
    """R1.6."""
    calls = (send.bind(n if n != 7 else "seven") for n in range(10))

    with pytest.raises(BatchRefused, match=r"item 7: payload\.student_id") as caught:
        app.submit_many(calls)

    assert (caught.value.index, caught.value.stored) == (7, 0)
    assert caught.value.cause.field == "payload.student_id"
    assert app.tasks.count() == {}


def test_a_long_stream_with_a_fault_says_what_is_stored(
    app: Rota, send: TaskKind[..., None]
) -> None:
    """R1.6."""
    fault = BATCH + 5
    calls = (send.bind(n if n != fault else None) for n in range(2 * BATCH))

    with pytest.raises(BatchRefused) as caught:
        app.submit_many(calls)

    assert (fault, BATCH) == (caught.value.index, caught.value.stored)
    assert app.tasks.count() == {State.READY: BATCH}


def test_bad_input_is_refused_and_nothing_is_stored(app: Rota, send: TaskKind[..., None]) -> None:
    """R1.6: the error names the field."""
    bad: list[tuple[Any, type[Exception], str]] = [
        (lambda: app.submit("sent", {}), UnknownKind, "did you mean 'send'"),
        (lambda: app.submit("send", {"student_id": "x"}), InvalidTask, "payload.student_id"),
        (lambda: app.submit("send", [1]), InvalidTask, "payload"),  # type: ignore[arg-type]
        (lambda: app.submit("send", {}, prio=1), InvalidTask, "prio"),  # type: ignore[call-arg]
        (lambda: send.using(run_at="10:00").submit(1), InvalidTask, "run_at"),
        (lambda: send.submit(1, phone="\0"), InvalidTask, "payload.phone"),
        (lambda: send.submit(1, phone="x" * 300_000), InvalidTask, "payload"),
    ]

    for call, error, named in bad:
        with pytest.raises(error, match=named):
            call()

    assert app.tasks.count() == {}


def test_what_has_not_started_is_cancelled_once(app: Rota, send: TaskKind[..., None]) -> None:
    """R5.1, case B137: however the id is written."""
    accepted = send.submit(1)

    outcome = app.tasks.cancel(accepted.id.replace("-", "").upper())
    again = app.tasks.cancel(accepted.id)

    assert (outcome, again) == (CancelOutcome.COMPLETED, CancelOutcome.TOO_LATE)
    assert State.CANCELLED is app.tasks.get(accepted.id).state


@pytest.mark.parametrize("task_id", ["nonsense", "0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44", ""])
def test_an_unknown_id_is_not_found(app: Rota, task_id: str) -> None:
    """Case B137."""
    for verb in (app.tasks.get, app.tasks.cancel, app.tasks.retry):
        with pytest.raises(TaskNotFound):
            verb(task_id)


def test_only_what_waits_or_failed_can_be_retried(app: Rota, send: TaskKind[..., None]) -> None:
    later = send.using(delay="1h").submit(1)
    ready = send.submit(2)

    app.tasks.retry(later.id)

    assert State.READY is app.tasks.get(later.id).state
    with pytest.raises(NotRetryable, match="ready"):
        app.tasks.retry(ready.id)


def test_lists_are_filtered_and_paged(app: Rota, send: TaskKind[..., None]) -> None:
    """R9.1."""
    ids = [send.using(tenant="board").submit(n).id for n in range(5)]
    send.using(tenant="college", tags=["late"]).submit(9)

    page = app.tasks.list(tenant="board", limit=3)
    rest = app.tasks.list(tenant="board", limit=3, after=page[-1].id)
    tagged = app.tasks.list(tag="late", state="ready")

    assert ids[::-1] == [task.id for task in (*page, *rest)]
    assert [task.tenant for task in tagged] == ["college"]
    with pytest.raises(InvalidTask, match="the states are"):
        app.tasks.list(state="done")
    with pytest.raises(InvalidTask, match="limit"):
        app.tasks.list(limit=0)


def test_many_threads_submit_at_once(app: Rota, send: TaskKind[..., None]) -> None:
    threads = [threading.Thread(target=send.submit, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert app.tasks.count() == {State.READY: 16}


def test_a_closed_app_can_be_used_again(app: Rota, send: TaskKind[..., None]) -> None:
    send.submit(1)
    app.close()
    send.submit(2)

    assert app.tasks.count() == {State.READY: 2}


def test_an_app_can_be_closed_amid_a_stream(app: Rota, send: TaskKind[..., None]) -> None:
    """What is under way is ended, not left to meet a loop that is closed; warnings are errors."""
    before = set(threading.enumerate())
    for _ in range(5):
        next(iter(app.submit_each(map(send.bind, range(6 * BATCH)))))
        app.close()

    assert set(threading.enumerate()) <= before
    assert app.tasks.count(cap=1)[State.READY] == 1


def test_a_fork_has_connections_of_its_own(app: Rota, send: TaskKind[..., None]) -> None:
    """Reliability F29: a server that loads the app before it forks."""
    send.submit(1)

    child = os.fork()
    if child == 0:
        code = 1
        try:
            send.submit(2)
            code = 0 if app.tasks.count() == {State.READY: 2} else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    send.submit(3)

    assert os.waitstatus_to_exitcode(status) == 0
    assert app.tasks.count() == {State.READY: 3}


def test_a_handler_can_be_called_as_it_is(app: Rota) -> None:
    @app.task
    def add(a: int, b: int) -> int:
        return a + b

    assert add(1, 2) == 3


def test_kinds_are_declared_once_and_rightly(app: Rota, send: TaskKind[..., None]) -> None:
    def other(ctx: Context) -> None: ...

    with pytest.raises(ConfigurationError, match="registered twice"):
        app.task(name="send")(other)
    with pytest.raises(ConfigurationError, match="priority"):
        app.task(priority=12)(other)
    with pytest.raises(ConfigurationError, match="timeout"):
        app.task(timeout="soon")(other)
    with pytest.raises(ConfigurationError, match="function"):
        app.task(int)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"name": "no name!"}, "Rota: name: 'no name!' is no name"),
        ({"patience": "long"}, "Rota: patience: 'long' is no duration"),
    ],
)
def test_an_app_is_told_what_is_wrong_with_it(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{why}"):
        Rota("sqlite:///x.db", **wrong)


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:/x.db", "mysql://x/y", "rota.db", "redis://x"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError):
        Rota(url).tasks.count()


def test_a_password_is_never_shown() -> None:
    """Reliability S11."""
    app = Rota("postgresql://rota:secret@localhost:1/rota")

    assert "secret" not in repr(app)
