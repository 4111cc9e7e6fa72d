"""The options of `rota schedules` that say when a schedule runs, by which policy, and what."""

from dataclasses import asdict, dataclass
from typing import Annotated, Any

import msgspec
from cyclopts import Group, Parameter

from rota.cli.options import spoken_duration, whole
from rota.cli.pairs import headers_of
from rota.config import CATCH_UP_MOST, CONCURRENCY_MOST, PRIORITY_LOWEST
from rota.policy.retry import Backoff

WHEN = Group("When", sort_key=10)
POLICY = Group("Late, and in each other's way", sort_key=20)
WORK = Group("What runs", sort_key=30)

_DURATIONS = (
    "every", "grace", "max_age", "jitter", "timeout", "expires_in",
)  # fmt: skip


@Parameter(name="*", group=WHEN)
@dataclass(frozen=True, kw_only=True)
class RuleFlags:
    """When there are slots; None and False are left as they are."""

    every: Annotated[
        str | None, Parameter(help="At a fixed interval, in place of an expression: 90s, 6h.")
    ] = None
    anchor: Annotated[
        str | None, Parameter(help="Count the interval from here: 2026-11-30T10:00:00Z.")
    ] = None
    tz: Annotated[
        str | None, Parameter(help="Time zone, such as Europe/Berlin; UTC if not given.")
    ] = None
    seconds: Annotated[
        bool | None, Parameter(help="The expression has a field for seconds in front.")
    ] = None
    both_days: Annotated[
        bool | None, Parameter(help="A day must match both day fields; else one is enough.")
    ] = None
    gap: Annotated[
        str | None, Parameter(help="A local time that does not exist: run_after, or skip.")
    ] = None
    fold: Annotated[
        str | None, Parameter(help="A local time that exists twice: first, second, or both run.")
    ] = None
    starts_at: Annotated[str | None, Parameter(help="No slot before then.")] = None
    ends_at: Annotated[str | None, Parameter(help="No slot from then on.")] = None

    @property
    def given(self) -> dict[str, Any]:
        """What was typed, by the names of the options in Python."""
        return _given(self)


@Parameter(name="*", group=POLICY)
@dataclass(frozen=True, kw_only=True)
class PolicyFlags:
    """What becomes of slots that are late, in each other's way, or all at once."""

    missed: Annotated[
        str | None,
        Parameter(help="What nobody was there to fire: run_once, run_all, or skip."),
    ] = None
    max_catchup: Annotated[
        int | None,
        Parameter(help="With run_all: so many at most.", converter=whole(1, CATCH_UP_MOST)),
    ] = None
    max_age: Annotated[str | None, Parameter(help="None that is older: 1d.")] = None
    grace: Annotated[str | None, Parameter(help="Not missed if fired within: 1m.")] = None
    overlap: Annotated[
        str | None,
        Parameter(
            help="While a run is not over: skip, coalesce, queue(5), cancel_previous, allow.",
            metavar="POLICY",
        ),
    ] = None
    jitter: Annotated[
        str | None, Parameter(help="Start up to so much later, always the same: 5m.")
    ] = None
    max_runs: Annotated[
        int | None, Parameter(help="Over after so many runs.", converter=whole(1))
    ] = None

    @property
    def given(self) -> dict[str, Any]:
        """What was typed, by the names of the options in Python."""
        return _given(self)


@Parameter(name="*", group=WORK)
@dataclass(frozen=True, kw_only=True)
class WorkFlags:
    """How the tasks differ from the defaults of their kind."""

    queue: Annotated[str | None, Parameter(help="Queue, if not the kind's own.")] = None
    tenant: Annotated[str | None, Parameter(help="On whose behalf.")] = None
    priority: Annotated[
        int | None,
        Parameter(help="0 (highest) to 10 (lowest).", converter=whole(0, PRIORITY_LOWEST)),
    ] = None
    timeout: Annotated[str | None, Parameter(help="How long a run may take.")] = None
    expires_in: Annotated[str | None, Parameter(help="Not started by then: cancelled.")] = None
    max_attempts: Annotated[
        int | None, Parameter(help="How often to try in all.", converter=whole(1))
    ] = None
    tag: Annotated[tuple[str, ...], Parameter(help="A tag; may be repeated.")] = ()
    header: Annotated[
        tuple[str, ...], Parameter(help="A header, k=v; may be repeated.", metavar="K=V")
    ] = ()
    concurrency_key: Annotated[
        str | None, Parameter(help="The gate that the runs share, in place of the schedule's own.")
    ] = None
    max_concurrency: Annotated[
        int | None,
        Parameter(help="So many run at once there.", converter=whole(1, CONCURRENCY_MOST)),
    ] = None

    def given(self, own: Backoff) -> dict[str, Any]:
        """Return what was typed, by the names of the options in Python.

        `own` is the retry policy of the kind, of which only the number of attempts may change.
        """
        typed = _given(self)
        if self.tag:
            typed["tags"] = typed.pop("tag")
        if self.header:
            typed["headers"] = headers_of(typed.pop("header"))
        if "max_attempts" in typed:
            most = typed.pop("max_attempts")
            typed["retry"] = msgspec.structs.replace(own, max_attempts=most)
        return typed


RULE_FLAGS = RuleFlags()
POLICY_FLAGS = PolicyFlags()
WORK_FLAGS = WorkFlags()


def _given(flags: RuleFlags | PolicyFlags | WorkFlags) -> dict[str, Any]:
    typed = {name: value for name, value in asdict(flags).items() if value not in (None, ())}
    return {
        name: spoken_duration(value) if name in _DURATIONS else value
        for name, value in typed.items()
    }
