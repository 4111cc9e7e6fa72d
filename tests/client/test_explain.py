"""Why a task waits is told exactly: take the reason away, and it starts (R7.8)."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest

from rota import Rota, State
from rota.clock import ManualClock
from rota.config import SECOND
from rota.model import Claimed
from rota.policy.lifecycle import Completed
from rota.policy.reasons import (
    AtCap,
    AtGate,
    InTurn,
    NotDue,
    NoWorker,
    OutOfTokens,
    Paused,
    PutOff,
    Reason,
)
from rota.task import TaskKind
from tests.support.factories import NOW, Make
from tests.support.hands import Hands

QUEUE = "sms"
NEXT = InTurn(0, False)


class Place:
    """An app whose time stands still, a kind, and a worker that takes its queue."""

    def __init__(self, app: Rota, clock: ManualClock) -> None:
        self.app, self.clock = app, clock
        self.kind: TaskKind[..., Any] = app.task(name="send", queue=QUEUE)(_send)
        self.hands = Hands(app, queues=(QUEUE,), kinds=("send",))
        self.held: list[Claimed] = []

    def submit(self, **options: Any) -> str:
        """Submit a task and return its id."""
        return str(self.kind.using(**options).submit().id)

    def start(self, **options: Any) -> str:
        """Submit a task, let it start, and return its id."""
        task_id = self.submit(**options)
        assert task_id in self.started()
        return task_id

    def started(self) -> list[str]:
        """Do what a worker does in a round, and return the ids of what it started."""
        backend = self.app._client.backend
        self.app._client.portal.run(backend.stage)
        taken = self.hands.take(QUEUE)
        self.held += taken
        return [task.id for task in taken]

    def end_first(self) -> None:
        """Let the first task that runs complete."""
        self.hands.end([self.held.pop(0)], lambda _: Completed(None))

    def why(self, task_id: str) -> tuple[Reason, ...]:
        """Why the task is where it is."""
        return self.app.tasks.explain(task_id).reasons


def _send() -> None: ...


@pytest.fixture
def place(still: Rota, clock: ManualClock) -> Place:
    """An app with a kind and a worker."""
    return Place(still, clock)


class Case(NamedTuple):
    """How a task comes to wait, the reasons that are told, and what takes the first one away."""

    name: str
    arrange: Callable[[Place], str]
    reasons: Sequence[Reason]
    remove: Callable[[Place], object]


def paused(what: Any, name: str) -> Callable[[Place], str]:
    """Something is paused before the task comes."""

    def arrange(place: Place) -> str:
        getattr(place.app, f"{what}s").pause(name, "provider down")
        return place.submit(tenant="board")

    return arrange


def resumed(what: str, name: str) -> Callable[[Place], object]:
    """It is resumed."""
    return lambda place: getattr(place.app, f"{what}s").resume(name)


def capped(scope: dict[str, Any]) -> Callable[[Place], str]:
    """A limit lets one task run, and one does."""

    def arrange(place: Place) -> str:
        place.app.limits.set(**scope, max_running=1)
        place.start(tenant="board")
        return place.submit(tenant="board")

    return arrange


def drained(scope: dict[str, Any]) -> Callable[[Place], str]:
    """A limit lets two tasks start at once, then one in two seconds; two have started."""

    def arrange(place: Place) -> str:
        place.app.limits.set(**scope, rate="30/m", burst=2)
        place.start(tenant="board")
        place.start(tenant="board")
        return place.submit(tenant="board")

    return arrange


def gated(place: Place) -> str:
    """A task holds the gate."""
    place.start(concurrency_key="printer", max_concurrency=1)
    task_id = place.submit(concurrency_key="printer", max_concurrency=1)
    assert place.started() == []
    return task_id


def behind(place: Place) -> str:
    """Two others are ahead in its lane."""
    place.submit()
    place.submit()
    return place.submit()


def full(place: Place) -> str:
    """A queue is at its depth, and puts off what is low."""
    place.app.queues.set(QUEUE, max_depth=2, when_full="defer")
    place.submit(priority=8)
    place.submit(priority=8)
    return place.submit(priority=8)


def elsewhere(place: Place) -> str:
    """The only worker takes all queues but this one."""
    place.app._client.portal.run(
        lambda: place.app._client.backend.close_session(place.hands.session.id)
    )
    Hands(place.app, id=Make(2).id(), queues=("*", f"!{QUEUE}"), kinds=("send",))
    return place.submit()


def hired(place: Place) -> None:
    """A worker comes that takes it."""
    place.hands = Hands(place.app, id=Make(3).id(), queues=("s*",), kinds=("send",))


def advanced(seconds: float) -> Callable[[Place], object]:
    """Time passes."""
    return lambda place: place.clock.advance(seconds)


SCOPES: list[dict[str, Any]] = [
    {"queue": QUEUE},
    {"tenant": "board"},
    {"queue": QUEUE, "tenant": "board"},
]
PAUSABLE: list[tuple[Any, str]] = [("queue", QUEUE), ("tenant", "board"), ("kind", "send")]
CASES = [
    Case(
        "not due",
        lambda place: place.submit(delay=20),
        [NotDue(NOW + 20 * SECOND, "delay", 0, 5)],
        advanced(20),
    ),
    *(
        Case(
            f"paused {what}",
            paused(what, name),
            [Paused(what, name, NOW, "provider down"), NEXT],
            resumed(what, name),
        )
        for what, name in PAUSABLE
    ),
    *(
        Case(
            f"at the cap of {' and '.join(scope)}",
            capped(scope),
            [AtCap(scope.get("queue"), scope.get("tenant"), 1, 1), NEXT],
            Place.end_first,
        )
        for scope in SCOPES
    ),
    Case(
        "at a cap that is raised",
        capped({"queue": QUEUE}),
        [AtCap(QUEUE, None, 1, 1), NEXT],
        lambda place: place.app.limits.set(queue=QUEUE, max_running=2),
    ),
    Case(
        "at a cap that is taken away",
        capped({"queue": QUEUE}),
        [AtCap(QUEUE, None, 1, 1), NEXT],
        lambda place: place.app.limits.delete(queue=QUEUE),
    ),
    *(
        Case(
            f"out of tokens of {' and '.join(scope)}",
            drained(scope),
            [OutOfTokens(scope.get("queue"), scope.get("tenant"), 0.5, 2, NOW + 2 * SECOND), NEXT],
            advanced(2),
        )
        for scope in SCOPES
    ),
    Case("at its gate", gated, [AtGate("printer", 1, 1, 1, False)], Place.end_first),
    Case("in its turn", behind, [InTurn(2, False)], lambda place: place.hands.take(QUEUE, slots=2)),
    Case("no worker", elsewhere, [NoWorker(QUEUE, "send", 1, 0, 1), NEXT], hired),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_task_starts_once_the_reason_why_it_waits_is_gone(place: Place, case: Case) -> None:
    """R7.8: as long as it is there the task does not start, and no longer."""
    task_id = case.arrange(place)
    assert place.why(task_id) == tuple(case.reasons)
    if not isinstance(case.reasons[0], InTurn | NoWorker):  # for those somebody has to come
        assert task_id not in place.started()
        assert place.why(task_id) == tuple(case.reasons)

    case.remove(place)

    assert task_id in place.started()
    assert place.app.tasks.get(task_id).state is State.RUNNING


def test_out_of_tokens_until_an_instant_means_that_instant(place: Place) -> None:
    """R7.8: not a millisecond earlier, and then at once."""
    task_id = drained({"queue": QUEUE})(place)

    place.clock.advance(1.999)
    assert place.started() == []
    place.clock.advance(0.001)
    assert place.started() == [task_id]


def test_what_is_put_off_says_by_how_full_a_queue_it_is(place: Place) -> None:
    """R1.7, R7.8: it runs when its time has come."""
    task_id = full(place)

    due, put_off = place.why(task_id)

    assert isinstance(due, NotDue)
    assert due.until > place.clock.now()
    assert put_off == PutOff("queue", QUEUE, 2, 2, False)
    assert task_id not in place.started()
    assert place.why(task_id) == (due,)
    place.clock.advance((due.until - place.clock.now()) / SECOND)
    hired(place)  # by now the lease of the first one is over
    assert place.started() == [task_id]


def test_several_reasons_stand_together_and_go_one_by_one(place: Place) -> None:
    """R7.8."""
    app = place.app
    app.limits.set(queue=QUEUE, rate="30/m", burst=1)
    app.limits.set(tenant="board", max_running=1)
    place.start(tenant="board")
    task_id = place.submit(tenant="board")
    app.queues.pause(QUEUE, "provider down")
    app.tenants.pause("board")

    def left() -> list[str]:
        assert task_id not in place.started()
        return [type(reason).__name__ for reason in place.why(task_id)]

    assert left() == ["Paused", "Paused", "AtCap", "OutOfTokens", "InTurn"]
    app.queues.resume(QUEUE)
    assert left() == ["Paused", "AtCap", "OutOfTokens", "InTurn"]
    place.clock.advance(2)
    assert left() == ["Paused", "AtCap", "InTurn"]
    app.tenants.resume("board")
    assert left() == ["AtCap", "InTurn"]
    place.end_first()
    assert place.started() == [task_id]


def test_a_limit_that_has_room_is_no_reason(place: Place) -> None:
    place.app.limits.set(queue=QUEUE, max_running=5, rate=100)
    place.app.limits.set(queue="mail", max_running=1)
    task_id = place.submit()

    assert place.why(task_id) == (NEXT,)
