"""The values that a diagnosis is made of: what a store says of itself, and what was found.

Instants and durations are whole microseconds (`Micros`), as everywhere.
"""

from enum import StrEnum
from typing import Any

from msgspec import Struct

from rota.model import Micros


class Severity(StrEnum):
    """How bad a finding is; a note alone is no finding that makes a system unhealthy."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


class Finding(Struct, frozen=True):
    """Something that is not as it should be: what, with which numbers, and what to do."""

    severity: Severity
    code: str
    what: str
    remedy: str
    numbers: dict[str, Any] = {}


class Diagnosis(Struct, frozen=True):
    """Everything that was found at one moment, the worst first."""

    at: Micros
    store: str
    findings: tuple[Finding, ...] = ()

    @property
    def healthy(self) -> bool:
        """Say whether there is nothing but notes."""
        return all(finding.severity is Severity.NOTE for finding in self.findings)


class Waiting(Struct, frozen=True):
    """Ready tasks of one kind in one queue, counted up to a cap; `oldest` is their earliest due."""

    queue: str
    kind: str
    count: int
    oldest: Micros


class Held(Struct, frozen=True):
    """How many tasks a session holds, since when, and what became of the session."""

    session: str
    name: str
    count: int
    since: Micros
    lease_until: Micros
    closed_at: Micros | None = None


class Overrun(Struct, frozen=True):
    """A task that has run for longer than its timeout."""

    task_id: str
    kind: str
    queue: str
    session: str
    started_at: Micros
    timeout: Micros


class Late(Struct, frozen=True):
    """A schedule whose next firing should have been made."""

    name: str
    next_at: Micros


class DeadLetters(Struct, frozen=True):
    """Dead letters that nobody has dealt with, and how many of late; counted up to a cap."""

    open: int = 0
    recent: int = 0


class Transaction(Struct, frozen=True):
    """A transaction that is open for long; while it is, nothing it may see can be cleaned up."""

    pid: int
    application: str
    state: str
    length: Micros


class Prepared(Struct, frozen=True):
    """A transaction that was prepared and neither committed nor rolled back."""

    name: str
    length: Micros


class ReplicationSlot(Struct, frozen=True):
    """A replication slot, and how much of the log the server keeps for it."""

    name: str
    active: bool
    kept_bytes: int


class TableUse(Struct, frozen=True):
    """How much of a table is dead rows."""

    name: str
    live: int
    dead: int
    autovacuum: bool


class Server(Struct, frozen=True):
    """A PostgreSQL server, as far as Rota's well-being hangs on it."""

    version: int
    shown: str
    settings: dict[str, str]
    connections: int
    connections_most: int
    transactions: tuple[Transaction, ...] = ()
    prepared: tuple[Prepared, ...] = ()
    slots: tuple[ReplicationSlot, ...] = ()
    tables: tuple[TableUse, ...] = ()


class File(Struct, frozen=True):
    """A SQLite file, as far as Rota's well-being hangs on it; `mode` are its permissions."""

    path: str
    version: str
    journal: str
    bytes: int
    log_bytes: int
    free_bytes: int
    mode: int


class StoreFacts(Struct, frozen=True):
    """What a store says of itself: of its work, and of what it runs on."""

    waiting: tuple[Waiting, ...] = ()
    held: tuple[Held, ...] = ()
    overrun: tuple[Overrun, ...] = ()
    late: tuple[Late, ...] = ()
    dead_letters: DeadLetters = DeadLetters()
    server: Server | None = None
    file: File | None = None
