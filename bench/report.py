"""What a scenario found: as a table to read, as JSON to compare."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from bench.figures import Pair, Waits

SHORTEST = 5.0
"""Less measured work than this, in seconds, says little."""

LABELS = {
    "control_p50_ms": ("lone commit, p50", "ms"),
    "control_p99_ms": ("lone commit, p99", "ms"),
    "cpu_us_a_task": ("processor time a task", "µs"),
    "control_cpu_us_a_task": ("the control's", "µs"),
    "cpu_percent": ("processor", "% of a core"),
    "worker_mb": ("worker's memory", "MB"),
    "control_worker_mb": ("with few tasks", "MB"),
    "client_mb": ("client's memory", "MB"),
    "control_client_mb": ("with few tasks", "MB"),
    "second_p50_ms": ("a tenth of them in one second, p50", "ms"),
    "second_p99_ms": ("a tenth of them in one second, p99", "ms"),
    "calm_p50_ms": ("without a purge, p50", "ms"),
    "calm_p99_ms": ("without a purge, p99", "ms"),
    "big_before_last_small": ("great ones before small", "tasks at worst"),
    "jain": ("Jain's index of tenants", ""),
    "cap": ("cap", "running tasks"),
    "cap_max_seen": ("most under the cap", "running tasks"),
    "cap_of_one_max_seen": ("most under a cap of 1", "running tasks"),
    "cap_used": ("used of the cap", ""),
    "rate_windows_over": ("windows over the rate", ""),
    "rate_used": ("used of the rate", ""),
    "wide_limits_ratio": ("under wide limits", "of the plain drain"),
    "batch_tasks_per_s": ("in batches of 500", "tasks/s"),
    "remote_drain_ratio": ("a remote worker's drain", "of the direct worker's"),
    "sse_core_share": ("200 listeners at 500 changes/s", "of a core"),
    "rss_slope_mb": ("the server's memory grew by", "MB"),
    "limits_elsewhere_ratio": ("with limits elsewhere", "of the plain drain"),
}
"""How the figures in `more` are called on a page, and their units."""


class Result(Struct, frozen=True, kw_only=True):
    """What one scenario found on one store; `ratio` is the median of the rounds' own ratios.

    `tasks` and `seconds` are what was measured of Rota, over all rounds. `what` says what the
    rate counts and `control` what it is held against. `more` has the figures that only this
    scenario has, and `shares` what each class got, in percent.
    """

    scenario: str
    store: str
    tasks: int
    seconds: float
    rate: float
    control_rate: float | None = None
    ratio: float | None = None
    what: str
    control: str
    waits: Waits | None = None
    pairs: tuple[Pair, ...] = ()
    more: dict[str, float] = {}
    shares: dict[str, float] = {}
    facts: dict[str, str] = {}

    def as_dict(self) -> dict[str, Any]:
        """Return the result flat, as `--json` prints it; only what was measured."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        waits: dict[str, Any] = found.pop("waits") or {}
        more: dict[str, Any] = found.pop("more")
        if not self.shares:
            del found["shares"]
        return found | waits | more


def as_json(result: Result) -> str:
    """Return one line of JSON."""
    return msgspec.json.encode(_rounded(result.as_dict())).decode()


def as_text(result: Result) -> str:
    """Return a small table and the facts below it."""
    lines = [f"{result.scenario} on {result.store}: {result.what}", ""]
    lines += [f"  {name:<24} {value}" for name, value in rows(result)]
    lines += ["", f"  control: {result.control}"]
    lines += [f"  {name}: {value}" for name, value in result.facts.items()]
    return "\n".join(lines)


def rows(result: Result) -> list[tuple[str, str]]:
    """Return the figures by name, ready to be shown."""
    found = [
        ("tasks measured", f"{result.tasks:,} in {result.seconds:.1f} s{_warning(result)}"),
        ("rate", f"{result.rate:,.1f}/s" if result.rate < 100 else f"{result.rate:,.0f}/s"),
    ]
    if result.control_rate is not None:
        found.append(("control", f"{result.control_rate:,.0f}/s"))
    if result.ratio is not None:
        found.append(("ratio to the control", f"{result.ratio:.2f}{_spread(result.pairs)}"))
    if result.waits is not None:
        waits = result.waits
        found.append(
            ("p50 / p99 / max", f"{waits.p50_ms:.1f} / {waits.p99_ms:.1f} / {waits.max_ms:.1f} ms")
        )
        found.append(("early", str(waits.early)))
    return (
        found
        + [
            (label, f"{_shown(name, result.more[name])} {unit}".rstrip())
            for name, (label, unit) in LABELS.items()
            if name in result.more
        ]
        + [(f"part of {name}", f"{part:.1f} %") for name, part in result.shares.items()]
    )


def _shown(name: str, value: float) -> str:
    # A share of 1 is told apart from one of 0.95; everything else is great enough.
    small = name == "jain" or name.endswith(("_used", "_ratio", "_share"))
    return f"{value:,.3f}" if small else f"{value:,.1f}"


def _warning(result: Result) -> str:
    return ", too short to be quoted" if result.seconds < SHORTEST else ""


def _spread(pairs: Sequence[Pair]) -> str:
    if not pairs:
        return ""
    ratios = [pair.ratio for pair in pairs]
    return f" ({min(ratios):.2f} to {max(ratios):.2f} in {len(ratios)} rounds)"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return value
