"""What is answered of limits."""

from msgspec import Struct


class Limit(Struct, frozen=True, kw_only=True):
    """A bound of a queue, a tenant, or a tenant in a queue; `rate` is starts a second."""

    id: str
    queue: str | None
    tenant: str | None
    max_running: int | None
    rate: float | None
    burst: int | None
    version: int


class LimitUse(Limit, frozen=True, kw_only=True):
    """A limit and how much of it is in use; `tokens` are there where there is a rate."""

    running: int
    tokens: float | None
    as_of: str


class LimitPage(Struct, frozen=True):
    """Limits with their use."""

    items: list[LimitUse]
    next: str | None
    as_of: str
