"""The shapes of dead letters: groups of those that failed alike, and what became of one."""

from msgspec import Struct


class DeadLetterGroup(Struct, frozen=True):
    """Dead letters that failed alike.

    `sample` is the id of the newest, `reason` why that failed. `by_tenant` counts whose the newest
    1,000 are, `tenants` names them: those twenty that have the most. `by_hour` counts those that
    failed in the last day, by when the hour began; hours in which none did are left out.
    """

    group: str
    kind: str
    error_type: str
    shape: str
    count: int
    first_at: str
    last_at: str
    sample: str
    reason: str | None
    tenants: list[str]
    by_tenant: dict[str, int]
    by_hour: dict[str, int]


class DeadLetterGroups(Struct, frozen=True):
    """The largest groups of dead letters that are still to be dealt with."""

    items: list[DeadLetterGroup]
    as_of: str


class Replayed(Struct, frozen=True):
    """The new task that was made of a dead letter, by this call or by an earlier one."""

    id: str
    replayed_as: str
    created: bool
