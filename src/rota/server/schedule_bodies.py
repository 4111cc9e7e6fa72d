"""What routes of schedules take: the options of `app.schedules`, checked by the same checks."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType, field

from rota.config import CATCH_UP, CATCH_UP_AGE, MISSED_AFTER
from rota.errors import ConfigurationError, InvalidSchedule
from rota.policy.retry import Backoff, Growth
from rota.schedule import Fold, Gap, Missed
from rota.server.route import In
from rota.views import seconds

Length = float | str
"""A duration: seconds, or text such as 15m or PT15M."""


class Retry(In, frozen=True):
    """How often and after how long a failed attempt is made again."""

    type: Growth = "exponential"
    base: float = 2.0
    multiplier: float = 2.0
    cap: float = 300.0
    jitter: float = 0.25
    max_attempts: int = 5


class RuleIn(In, frozen=True):
    """When a schedule has slots, and what becomes of those that come late or in the way."""

    expression: str | UnsetType | None = UNSET
    every: Length | UnsetType | None = UNSET
    anchor: str | UnsetType | None = UNSET
    tz: str | UnsetType | None = UNSET
    seconds: bool | UnsetType | None = UNSET
    both_days: bool | UnsetType | None = UNSET
    gap: Gap | UnsetType | None = UNSET
    fold: Fold | UnsetType | None = UNSET
    starts_at: str | UnsetType | None = UNSET
    ends_at: str | UnsetType | None = UNSET
    missed: Missed | UnsetType | None = UNSET
    grace: Length | UnsetType | None = UNSET
    max_catchup: int | UnsetType | None = UNSET
    max_age: Length | UnsetType | None = UNSET
    overlap: str | UnsetType | None = UNSET
    max_pending: int | UnsetType | None = UNSET
    jitter: Length | UnsetType | None = UNSET
    max_runs: int | UnsetType | None = UNSET


class ScheduleChange(RuleIn, frozen=True):
    """What to change of a schedule: what is absent stays, null is the default."""

    payload: dict[str, Any] | UnsetType | None = UNSET
    queue: str | UnsetType | None = UNSET
    tenant: str | UnsetType | None = UNSET
    priority: int | UnsetType | None = UNSET
    timeout: Length | UnsetType | None = UNSET
    retry: Retry | UnsetType | None = UNSET
    expires_in: Length | UnsetType | None = UNSET
    tags: list[str] | UnsetType | None = UNSET
    headers: dict[str, str] | UnsetType | None = UNSET
    concurrency_key: str | UnsetType | None = UNSET
    max_concurrency: int | UnsetType | None = UNSET


class ScheduleNew(ScheduleChange, frozen=True, kw_only=True):
    """A new schedule: of which kind, when, and with what."""

    kind: str
    name: str | None = None


class PreviewOf(RuleIn, frozen=True):
    """A rule to look ahead of: nothing is stored."""

    after: str | None = None
    count: Annotated[int, Meta(ge=1, le=500)] = 5


class Backfill(In, frozen=True, kw_only=True):
    """The slots to make up for: `from <= slot < to`."""

    since: str = field(name="from")
    until: str = field(name="to")
    dry_run: bool = False


class RunNow(In, frozen=True):
    """Whether a run may wait for another one that is not over."""

    force: bool = False


USUAL: dict[str, Any] = {
    "tz": "UTC",
    "seconds": False,
    "both_days": False,
    "gap": Gap.RUN_AFTER,
    "fold": Fold.FIRST,
    "missed": Missed.RUN_ONCE,
    "grace": seconds(MISSED_AFTER),
    "max_catchup": CATCH_UP,
    "max_age": seconds(CATCH_UP_AGE),
    "overlap": "skip",
    "jitter": 0,
    "payload": {},
}
"""What null stands for where the options of `app.schedules` have no null."""


def options(body: Struct, leave: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return what a body says as the options of `app.schedules`; null is the default."""
    said = {
        name: USUAL.get(name) if value is None else value
        for name in body.__struct_fields__
        if name not in leave and (value := getattr(body, name)) is not UNSET
    }
    if said.get("max_pending", 0) is None:
        del said["max_pending"]  # how many may wait goes with the overlap that says so
    retry = said.get("retry")
    if isinstance(retry, Retry):
        said["retry"] = _backoff(retry)
    return said


def _backoff(retry: Retry) -> Backoff:
    try:
        return Backoff(**{name: getattr(retry, name) for name in retry.__struct_fields__})
    except ConfigurationError as error:
        raise InvalidSchedule("retry", str(error)) from None
