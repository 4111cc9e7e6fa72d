"""The part of a store's contract that recurring work and gates need (R6)."""

from collections.abc import Sequence
from typing import Protocol

from rota.model import Micros
from rota.schedule import Due, Firing, GateUse, Run, Schedule, ScheduleFilter, Skip, Slot, SlotRun


class Gates(Protocol):
    """A gate is a `concurrency_key`: its tasks wait in scheduled until there is room.

    A task is inside while it is ready or running; a retry, a snooze and an end let it out. Rows are
    counted, never a counter, and whoever lets tasks in holds the gate's lock for one statement, so
    that racing nodes never let in more than `max_concurrency` (B127, F48).
    """

    async def admit(self, keys: Sequence[str], now: Micros) -> int:
        """Make ready, in rank order, what waits at these gates as far as they have room.

        Returns how many tasks. A task goes in while fewer than its own `max_concurrency` are
        inside; tasks behind one that may not go in do not pass it.
        """
        ...

    async def waiting_gates(self, after: str, limit: int) -> list[str]:
        """Return the next gates in order that have a task waiting; "" begins, cost by answer."""
        ...

    async def gate_use(self, key: str, cap: int) -> GateUse:
        """Count what is inside a gate and what waits at it, each up to `cap`."""
        ...


class Schedules(Protocol):
    """Schedules are data; policy says what becomes of their slots, the store guards it.

    What a node decided from an old state of a schedule changes nothing: each change is guarded by
    the `version` and the `cursor` that it was decided from, and a slot makes one task whatever
    happens (`(schedule, slot)` is unique, cases B095, B104, B118).
    """

    async def create_schedule(self, schedule: Schedule) -> bool:
        """Store a schedule; False if another one has its name. A repeat (same id) is True."""
        ...

    async def change_schedule(
        self, schedule: Schedule, version: int, cursor: Micros, skips: Sequence[Skip] = ()
    ) -> bool:
        """Put `schedule` in the place of the one with its id that is at this version and cursor.

        False, with nothing changed, if it is not (any more), or if another one has the new name.
        Counters, `last_slot` and `last_fired_at` stay as they are stored. `skips` are recorded
        with it, and counted.
        """
        ...

    async def remove_schedule(self, schedule_id: str) -> bool:
        """Remove a schedule with the record of its slots; tasks that it made are left alone."""
        ...

    async def get_schedules(self, names: Sequence[str]) -> list[Schedule | None]:
        """Return each schedule by its name or its id, or None."""
        ...

    async def find_schedules(
        self, where: ScheduleFilter, *, after_name: str = "", limit: int = 100
    ) -> list[Schedule]:
        """Return matching schedules in the order of their names, after `after_name`."""
        ...

    async def live(self, schedule_ids: Sequence[str], cap: int) -> list[int]:
        """Return how many tasks of each schedule are not over (scheduled, ready, running).

        Each up to `cap`; `due_schedules` counts as many as any overlap policy tells apart.
        """
        ...

    async def due_schedules(self, now: Micros, limit: int) -> list[Due]:
        """Return schedules that are not paused and whose `next_at` has come, the earliest first.

        Found by their stored time, never by a look-back window (B091); nothing is locked.
        """
        ...

    async def next_firing(self) -> Micros | None:
        """Return the earliest `next_at` of a schedule that is not paused."""
        ...

    async def schedules_behind(self, now: Micros, cap: int) -> int:
        """Count the schedules that are not paused and were to be fired by `now`, up to `cap`."""
        ...

    async def outdated_schedules(self, tz_data: str, limit: int) -> list[Schedule]:
        """Return schedules with a next slot that was worked out with other time zone data."""
        ...

    async def fire(self, firings: Sequence[Firing], now: Micros) -> list[bool]:
        """Carry out each firing whose schedule is not paused and as the firing expects it.

        Each whole or not at all, and says for each whether it applied: tasks stored, slots
        recorded, counters, `last_slot`, `last_fired_at` and the next slot set, in one transaction
        that no stalled node can hold open. A run whose slot has a task already is left out. A
        schedule that somebody else is changing is skipped, not waited for. Tasks are stored as by
        `submit`; those with a concurrency key are let in at once where there is room.
        """
        ...

    async def fire_extra(
        self, schedule_id: str, runs: Sequence[Run], now: Micros, *, slots: bool
    ) -> list[bool]:
        """Make tasks of a schedule besides its firings; say for each whether it was made.

        With `slots` (a backfill) each is recorded for its slot, and one whose slot has a task
        already is not made. Without (run now) the tasks stand for no slot. The schedule itself
        stays as it is. A repeat with the same tasks is answered like the first call.
        """
        ...

    async def slots(self, schedule_id: str, before: Micros | None, limit: int) -> list[Slot]:
        """Return what became of the schedule's slots before an instant, the newest first.

        More than `limit` if several share the last instant: the next page begins before that.
        """
        ...

    async def slot_runs(
        self, schedule_ids: Sequence[str], before: Micros | None, limit: int
    ) -> list[list[SlotRun]]:
        """Return what `slots` does of each schedule, with what became of the tasks (R6.8).

        One bounded read for a page of schedules; of those that are not there nothing.
        """
        ...
