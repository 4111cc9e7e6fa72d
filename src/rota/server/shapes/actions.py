"""The shape of actions: changes of all that a filter matches."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType


class ActionChanges(Struct, frozen=True):
    """What an amendment sets; `timeout` is in seconds."""

    priority: int | UnsetType = UNSET
    queue: str | UnsetType = UNSET
    run_at: str | UnsetType = UNSET
    timeout: float | UnsetType | None = UNSET
    tags: list[str] | UnsetType = UNSET


class Action(Struct, frozen=True, kw_only=True):
    """A change of many tasks and how far it is.

    `id` is null for what was done at once, or not at all in a dry run. `matched` is how many
    matched at `as_of`, at least so many where `capped`; `sample` has some of their ids. `done`
    counts what was looked at, `changed` what was changed, `skipped` the rest by the reason.
    """

    id: str | None
    do: str
    on: str
    filter: dict[str, Any]
    set: ActionChanges | None
    deadline: float | None
    rate: float | None
    reason: str | None
    state: str
    dry_run: bool
    as_of: str
    created_by: str
    tenant: str | None
    queues: list[str] | None
    matched: int
    capped: bool
    sample: list[str]
    done: int
    changed: int
    skipped: dict[str, int]
    error: str | None
    ended_at: str | None
