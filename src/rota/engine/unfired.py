"""Due schedules that this node cannot fire: said once, counted, left to others (case B085)."""

import logging
from collections.abc import Sequence

from rota.errors import InvalidSchedule
from rota.policy.calendar import Calendar
from rota.schedule import Due, Schedule
from rota.slot_task import calendar_of
from rota.telemetry import Telemetry

log = logging.getLogger("rota.engine")


class Unfired:
    """The schedules that were due at the last look and could not be fired.

    A newer version of Rota may have written them, or their time zone is not in this node's data.
    They stay due, and so would be looked at first for ever.
    """

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._names: dict[str, str] = {}
        self._told: set[tuple[str, int]] = set()

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, schedule_id: object) -> bool:
        return schedule_id in self._names

    def sift(self, page: Sequence[Due]) -> list[tuple[Due, Calendar]]:
        """Begin a new look: return what can be read, with its slots, and take in the rest."""
        self._names = {}
        readable: list[tuple[Due, Calendar]] = []
        for due in page:
            calendar = readable_calendar(due.schedule)
            if isinstance(calendar, str):
                self.add(due.schedule, calendar)
            else:
                readable.append((due, calendar))
        return readable

    def add(self, schedule: Schedule, problem: str) -> None:
        """Take in a schedule that cannot be fired."""
        self._names[schedule.id] = schedule.name
        if (schedule.id, schedule.version) in self._told:
            return
        self._told.add((schedule.id, schedule.version))
        log.error(
            "schedule %s is due and cannot be fired here (%s); it is left to other nodes. Bring "
            "this node to the version of the others, or change the schedule",
            schedule.name, problem,
        )  # fmt: skip

    def tell(self) -> None:
        """End a look: say what could not be fired to whoever measures it."""
        if not self._names:
            return
        try:
            self._telemetry.unfired(list(self._names.values()))
        except Exception:
            log.exception("the telemetry failed; schedules are fired all the same")


def readable_calendar(schedule: Schedule) -> Calendar | str:
    """Return a schedule's slots, or why they cannot be worked out here."""
    if schedule.problem is not None:
        return schedule.problem
    try:
        return calendar_of(schedule.rule)
    except InvalidSchedule as error:
        return str(error)
