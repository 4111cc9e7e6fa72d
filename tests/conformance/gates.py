"""What tests of gates do again and again."""

from rota.model import NewTask
from rota.store.base import Store
from tests.support.factories import NOW, Make

GATE = "lms:school-13"


def waiting(make: Make, count: int, *, room: int = 1, gate: str = GATE) -> list[NewTask]:
    """Tasks that share a gate, in the order in which they shall go in."""
    return [
        make.task(concurrency_key=gate, max_concurrency=room, run_at=NOW - count + n)
        for n in range(count)
    ]


async def inside(store: Store, gate: str = GATE) -> int:
    """How many are inside."""
    return (await store.gate_use(gate, 1000)).inside


async def at_gate(store: Store, tasks: list[NewTask]) -> list[bool]:
    """Which of the tasks are due and wait at their gate."""
    return [task is not None and task.at_gate for task in await store.get([t.id for t in tasks])]


async def enter(store: Store, make: Make, count: int, room: int = 1) -> list[NewTask]:
    """Submit tasks that share a gate and bring them there."""
    tasks = waiting(make, count, room=room)
    await store.submit(tasks, NOW)
    await store.stage(NOW, 1000)
    return tasks
