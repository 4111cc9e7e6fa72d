"""A diagnosis as it is shown: the same on the command line and over HTTP."""

from typing import Any

from msgspec import to_builtins

from rota.diagnosis import Diagnosis
from rota.times import show_instant


def view(found: Diagnosis) -> dict[str, Any]:
    """Return a diagnosis as plain values."""
    return {
        "ok": found.healthy,
        "as_of": show_instant(found.at),
        "store": found.store,
        "findings": [to_builtins(finding) for finding in found.findings],
    }
