"""The shapes of dead letters: groups of those that failed alike, and what became of one."""

from msgspec import Struct


class DeadLetterGroup(Struct, frozen=True):
    """Dead letters that failed alike.

    `sample` is the id of the newest, `reason` why that failed; `tenants` are those of the newest
    twenty.
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


class DeadLetterGroups(Struct, frozen=True):
    """The largest groups of dead letters that are still to be dealt with."""

    items: list[DeadLetterGroup]
    as_of: str


class Replayed(Struct, frozen=True):
    """The new task that was made of a dead letter, by this call or by an earlier one."""

    id: str
    replayed_as: str
    created: bool
