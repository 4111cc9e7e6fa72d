"""Tasks are dated by the store's clock, from the first one on (R2.2, R2.3)."""

from rota import Rota, State
from rota.clock import ManualClock
from rota.config import HOUR
from rota.engine import Engine
from tests.support.factories import Make


def test_a_task_that_is_due_at_once_is_ready_at_once(app: Rota) -> None:
    """A machine whose clock is ahead finds that out when it connects, before it makes a task."""
    kind = app.task(name="quick")(lambda: None)
    clock = app._client.backend.clock
    ahead = clock.now() + HOUR
    clock.observe(ahead, clock.monotonic())

    first = kind.submit()

    assert app.tasks.get(first.id).state is State.READY


async def test_a_clock_that_is_set_back_puts_nothing_off(app: Rota, make: Make) -> None:
    engine = app.connect()
    assert isinstance(engine, Engine)
    await engine.open()
    task = make.task()
    engine.clock = ManualClock(task.created_at - 1)

    await engine.submit([task])
    (found,) = await engine.get([task.id])
    await engine.close()

    assert found is not None
    assert found.state is State.READY
