"""No more tasks for processes are held than there are processes for (cases B139, B143)."""

from rota.clock import ManualClock
from rota.node.pool_line import PoolLine
from tests.node.fakes import claimed


class Lining:
    """A line before two processes."""

    def __init__(self, size: int = 2) -> None:
        self.clock = ManualClock()
        self.line = PoolLine(size, self.clock)


def test_only_as_many_start_as_there_are_processes() -> None:
    it = Lining()

    admitted = [it.line.admit(claimed(n)) for n in range(3)]

    assert admitted == [True, True, False]
    assert (it.line.places, len(it.line)) == (0, 1)
    assert it.line.next() is None


def test_the_next_starts_when_one_has_ended() -> None:
    it = Lining()
    for n in range(4):
        it.line.admit(claimed(n))

    it.line.ended(3.0)
    first, second = it.line.next(), it.line.next()

    assert first is not None
    assert first.id == "task-2"
    assert second is None


def test_slow_handlers_have_nothing_waiting_quick_ones_a_little() -> None:
    """B143: what waits here, others could run."""
    it = Lining()
    slow = it.line.places
    for _ in range(30):
        it.line.admit(claimed())
        it.line.ended(0.001)

    assert slow == 2
    assert it.line.places == 10


def test_what_waits_too_long_is_taken_out() -> None:
    it = Lining(1)
    for n in range(3):
        it.line.admit(claimed(n))
        it.clock.advance(1)

    assert [task.id for task in it.line.take_out(2.0)] == ["task-1"]
    assert it.line.hand_outs() == {("task-2", 1)}
    assert [task.id for task in it.line.take_out()] == ["task-2"]


def test_one_that_is_cancelled_is_removed() -> None:
    it = Lining(1)
    for n in range(3):
        it.line.admit(claimed(n))

    assert it.line.remove(("task-2", 1)) == claimed(2)
    assert it.line.remove(("task-2", 1)) is None
    assert len(it.line) == 1
