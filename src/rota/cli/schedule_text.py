"""Runs of a schedule that are to come, as a person reads them."""

from collections.abc import Sequence

from rota.cli.output import Output
from rota.policy.calendar import Occurrence
from rota.views import occurrence


def next_runs(output: Output, found: Sequence[Occurrence]) -> None:
    """Show runs to come: on a terminal with what is surprising below, else a line each."""
    for slot in found:
        if not output.terminal:
            output.fields((slot.local.isoformat(), utc(slot), "; ".join(slot.notes)))
            continue
        output.line(f"{there(slot)}  {utc(slot)}")
        for note in slot.notes:
            output.line(f"    {note}")


def there(slot: Occurrence) -> str:
    """Return the local time of a run for people, with its offset from UTC."""
    return slot.local.strftime("%a %Y-%m-%d %H:%M:%S %z")


def utc(slot: Occurrence) -> str:
    """Return a run in UTC, as JSON shows it."""
    return str(occurrence(slot)["utc"])
