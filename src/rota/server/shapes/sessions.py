"""What is answered of workers' sessions."""

from msgspec import Struct


class Session(Struct, frozen=True, kw_only=True):
    """A worker's session: what it takes, how many tasks it holds, when it was heard of."""

    id: str
    name: str
    host: str
    pid: int
    version: str
    queues: list[str]
    kinds: list[str]
    slots: int
    held: int
    started_at: str
    lease_until: str
    heartbeat_age_s: float
    draining: bool
    closed_at: str | None
    live: bool


class SessionPage(Struct, frozen=True):
    """Sessions, the newest first."""

    items: list[Session]
    next: str | None
    as_of: str
