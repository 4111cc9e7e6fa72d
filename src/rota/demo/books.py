"""What Rota's own books say of the demo's tasks, beside what the provider recorded."""

from collections.abc import Mapping

from msgspec import Struct

from rota.demo.tasks import DemoApp
from rota.insights import PAGE
from rota.model import State


class Books(Struct, frozen=True):
    """How many tasks were handed in, how many are in which state, and how many ran again.

    `again` gives the kind of each task that was handed out again, for it lost its worker or failed.
    """

    tasks: int
    states: Mapping[State, int]
    again: Mapping[str, str] = {}

    @property
    def closed(self) -> bool:
        """Say whether every task that was handed in is over, and well."""
        return self.states == {State.COMPLETED: self.tasks}


async def read_books(demo: DemoApp, queue: str, tasks: int) -> Books:
    """Return the state of every task of the queue; one more than handed in would show."""
    return Books(tasks, await demo.app.tasks.acount(queue=queue, cap=tasks + 1))


async def ran_again(demo: DemoApp, queue: str) -> dict[str, str]:
    """Return the tasks of the queue that were handed out again, each with its kind."""
    again: dict[str, str] = {}
    after = None
    while page := await demo.app.tasks.alist(queue=queue, after=after, limit=PAGE):
        again |= {task.id: task.kind for task in page if task.lost or task.attempt > 1}
        after = page[-1].id
    return again
