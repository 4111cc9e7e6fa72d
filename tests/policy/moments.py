"""Instants and rules as the tables of the tests write them."""

from datetime import UTC, datetime
from typing import Any

from rota.clock import instant, micros
from rota.model import Micros
from rota.policy.calendar import Calendar
from rota.schedule import Rule
from rota.zones import zone


def calendar(expression: str, tz: str = "UTC", **options: Any) -> Calendar:
    return Calendar(Rule(expression=expression, tz=tz, **options), zone(tz))


def at(text: str, tz: str = "UTC") -> Micros:
    """Read `2022-10-30T19:00Z`, or a local time of a zone if it does not end in Z."""
    moment = datetime.fromisoformat(text)
    return micros(moment if moment.tzinfo else moment.replace(tzinfo=zone(tz)))


def utc(at: Micros) -> str:
    """Write an instant as the tables do."""
    moment = instant(at).astimezone(UTC)
    return f"{moment:%Y-%m-%dT%H:%M}{f':{moment:%S}' if moment.second else ''}Z"
