"""What is answered of how everything is doing."""

from typing import Any

from msgspec import Struct

from rota.diagnosis import Severity


class Finding(Struct, frozen=True, kw_only=True):
    """Something that is not as it should be, with its numbers and what to do about it."""

    severity: Severity
    code: str
    what: str
    remedy: str
    numbers: dict[str, Any]


class Diagnosis(Struct, frozen=True, kw_only=True):
    """All that was found, the worst first; `ok` if there is nothing but notes."""

    ok: bool
    as_of: str
    store: str
    findings: list[Finding]
