"""What is said of a report that did not apply (R3.2)."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from rota.clock import ManualClock
from rota.http.wire import Said
from rota.model import State, Task
from rota.server.problems import Problem
from rota.server.reports import FinishItem, NoteItem
from rota.server.route import Call
from rota.server.verdicts import explain
from tests.support.factories import NOW

ID, MINE, THEIRS = "0193f2a1-7c5e-7d3a-9b1f-2f6f3c1e8a44", "mine", "theirs"


def task(state: State, session: str | None = MINE, fence: int = 7) -> Task:
    return Task(
        id=ID, kind="send", queue="sms", tenant="", priority=5, state=state, payload={},
        created_at=NOW, run_at=NOW, fence=fence, session=session,
    )  # fmt: skip


def item(outcome: str) -> Any:
    if outcome == "note":
        return NoteItem(id=ID, fence=7, done=1)
    return FinishItem(id=ID, fence=7, outcome=cast(Any, outcome))


class Asked:
    """A server whose session lives or does not, with one task; keeps what it is told."""

    def __init__(self, found: Task | None, *, alive: bool) -> None:
        self.stale: list[Task] = []
        self.forgotten: list[str] = []
        self._found, self._alive = found, alive

    async def __call__(self, outcome: str, sent: tuple[int, ...] = ()) -> str:
        said: list[Said | None] = [None]
        holding: Any = SimpleNamespace(session_id=MINE)
        await explain(cast(Call, self), holding, [item(outcome)], said, sent)
        assert said[0] is not None
        return said[0].verdict

    @property
    def place(self) -> Any:
        return SimpleNamespace(
            clock=ManualClock(NOW),
            engine=SimpleNamespace(
                standing=self._standing, measuring=SimpleNamespace(stale=self.stale.extend)
            ),
            holdings=SimpleNamespace(forget=self.forgotten.append),
        )

    @property
    def backend(self) -> Any:
        return SimpleNamespace(get=self._get)

    async def _get(self, _: Any) -> list[Task | None]:
        return [self._found]

    async def _standing(self, _: str) -> Any:
        return SimpleNamespace(alive=lambda _now: self._alive)


VERDICTS: list[tuple[str, Task | None, str]] = [
    ("completed", task(State.COMPLETED), "duplicate"),
    ("completed", task(State.COMPLETED, None), "stale"),
    ("completed", task(State.COMPLETED, THEIRS), "stale"),
    ("completed", task(State.COMPLETED, fence=8), "stale"),
    ("completed", task(State.FAILED), "stale"),
    ("completed", task(State.RUNNING), "stale"),
    ("failed", task(State.RUNNING), "stale"),
    ("snooze", task(State.RUNNING), "stale"),
    ("released", task(State.RUNNING, None), "stale"),
    ("cancelled", task(State.CANCELLED), "duplicate"),
    ("expired", task(State.CANCELLED), "duplicate"),
    ("failed", task(State.FAILED), "duplicate"),
    ("failed", task(State.SCHEDULED, None), "duplicate"),
    ("released", task(State.READY, None), "duplicate"),
    ("completed", task(State.READY, None), "stale"),
    ("note", task(State.RUNNING), "stale"),
    ("note", task(State.COMPLETED), "stale"),
    ("completed", None, "unknown"),
]


@pytest.mark.parametrize(
    ("outcome", "found", "verdict"),
    VERDICTS,
    ids=[f"{o}, {f and f'{f.state.value} {f.session} {f.fence}'}" for o, f, _ in VERDICTS],
)
async def test_a_report_is_a_repeat_only_where_it_would_have_brought_the_task(
    outcome: str, found: Task | None, verdict: str
) -> None:
    """R3.2: under the same fence and session, in the state that it leads to."""
    asked = Asked(found, alive=True)
    assert await asked(outcome) == verdict
    assert len(asked.stale) == (verdict == "stale")
    assert asked.forgotten == []


@pytest.mark.parametrize("state", [State.READY, State.SCHEDULED])
async def test_what_is_back_in_its_queue_after_the_session_may_have_been_taken_away(
    state: State,
) -> None:
    """R3.2: the lease ran out under the same fence; the report is told as too late, and 410."""
    asked = Asked(task(state, None), alive=False)
    with pytest.raises(Problem) as raised:
        await asked("released")
    assert raised.value.meaning.code == "session_gone"
    assert asked.forgotten == [MINE]


async def test_a_session_that_is_over_hears_that_its_report_had_arrived() -> None:
    """R3.2: no 410 for what was done; the worker need not do anything about it."""
    asked = Asked(task(State.COMPLETED), alive=False)
    assert await asked("completed") == "duplicate"
    assert asked.forgotten == []


async def test_what_was_counted_as_stale_already_is_not_counted_again() -> None:
    """R9.1: `sent` came to the engine, which counts by itself."""
    asked = Asked(task(State.FAILED), alive=True)
    assert await asked("completed", sent=(0,)) == "stale"
    assert asked.stale == []
