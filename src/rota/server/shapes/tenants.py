"""What is answered of tenants."""

from msgspec import Struct


class TenantSettings(Struct, frozen=True, kw_only=True):
    """A tenant's part beside other tenants; the name "" is who has none."""

    name: str
    paused: bool
    paused_at: str | None
    pause_reason: str | None
    weight: int
    max_depth: int | None
    version: int


class Tenant(TenantSettings, frozen=True, kw_only=True):
    """A tenant with how many of its ready tasks wait, or more if `capped`."""

    waiting: int
    capped: bool


class TenantPage(Struct, frozen=True):
    """Tenants by name."""

    items: list[Tenant]
    next: str | None
    as_of: str
