"""How a schedule is, and its instants by the clocks of its own zone."""

from datetime import date, datetime, time
from typing import Any

from rota import views, zones
from rota.clock import Micros, instant
from rota.config import SECOND
from rota.errors import InvalidSchedule
from rota.schedule import Schedule


def seen(schedule: Schedule) -> dict[str, Any]:
    """Return a schedule as JSON: all that is known of it, how it is, and its next run there."""
    at = schedule.next_at
    return views.schedule(schedule) | {
        "status": status(schedule),
        "next_local": None if at is None else local(schedule, at),
    }


def status(schedule: Schedule) -> str:
    """Return in a word how a schedule is: active, paused, over, or unreadable here."""
    if schedule.problem is not None:
        return "unreadable"
    if schedule.paused_at is not None:
        return "paused"
    return "over" if schedule.next_at is None else "active"


def local(schedule: Schedule, at: Micros) -> str:
    """Return an instant by the clocks of a schedule's zone, with its offset."""
    return there(schedule, at).isoformat(timespec="microseconds" if at % SECOND else "seconds")


def clock_there(schedule: Schedule, at: Micros) -> str:
    """Return an instant for people, by the clocks of a schedule's zone."""
    moment = there(schedule, at)
    return moment.strftime(f"%a %Y-%m-%d {clock(moment)}") + f" {schedule.rule.tz}"


def there(schedule: Schedule, at: Micros) -> datetime:
    """Return an instant by the clocks of a schedule's zone; in UTC if that is unknown here."""
    try:
        return instant(at).astimezone(zones.zone(schedule.rule.tz))
    except InvalidSchedule:  # it was made by a node with newer data (case B085)
        return instant(at)


def day_there(schedule: Schedule, text: str) -> datetime | str:
    """Return the first instant of a day in a schedule's zone; what is no plain day as it is."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return text
    return datetime.combine(day, time(), zones.zone(schedule.rule.tz))


def clock(moment: datetime) -> str:
    """Return the format of a time of day: without its seconds where there are none."""
    return "%H:%M:%S" if moment.second else "%H:%M"
