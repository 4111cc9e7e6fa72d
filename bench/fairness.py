"""How capacity is shared out, what holds when many race for it, and what that costs."""

from collections.abc import Callable
from statistics import median

from bench.app import bench_app
from bench.caps import Race, capped, rated
from bench.drain import finished
from bench.figures import Pair, Rate, median_ratio
from bench.options import Options
from bench.process import WorkerProcess
from bench.report import Result
from bench.stores import Ground
from bench.tasks import preload
from bench.turns import BIG, WORKERS, big_before_last_small, class_shares, jain

TENANTS = 3_000
EACH = 20
BACKLOG = 100_000
PROBE = 50_000
CAP, RATE, BURST = 20, 500, 50
RACE = 8.0
WIDE = 1_000_000
"""A limit that never binds."""
ELSEWHERE = 50

Measured = dict[str, list[Rate]]


def run(options: Options, ground: Ground) -> Result:
    """Measure turns, caps and rates, and four drains side by side in each round.

    The plain drain of a round is the control of its other three.
    """
    small = options.tasks
    race = Race(
        workers=2 if small else 4, slots=20, seconds=1.0 if small else options.seconds or RACE
    )
    cap = capped(ground, race, CAP)
    rate = rated(ground, race, rate=RATE, burst=BURST)
    drains = _drains(options, ground)
    pairs = {name: _pairs(drains, name) for name in drains if name != "plain"}
    many = drains["tenants"]
    return Result(
        scenario="fairness",
        store=options.store,
        tasks=sum(one.tasks for one in many),
        seconds=sum(one.seconds for one in many),
        rate=median(pair.ours for pair in pairs["tenants"]),
        control_rate=median(pair.control for pair in pairs["tenants"]),
        ratio=median_ratio(pairs["tenants"]),
        what=f"one worker, {TENANTS:,} tenants with as many tasks each",
        control="the same worker, as many tasks of one tenant, no limits",
        pairs=pairs["tenants"],
        more={
            "big_before_last_small": big_before_last_small(
                ground, min(small or BIG, BIG), WORKERS[-1:] if small else WORKERS
            ),
            "jain": _jain(ground, small),
            "cap": CAP,
            "cap_max_seen": max(cap.by_handlers, cap.by_store),
            "cap_used": cap.use,
            "rate_windows_over": rate.over,
            "rate_used": rate.use,
            "wide_limits_ratio": median_ratio(pairs["wide"]),
            "limits_elsewhere_ratio": median_ratio(pairs["elsewhere"]),
        },
        shares=class_shares(ground, min(small or 20_000, 20_000)),
    )


def _jain(ground: Ground, small: int | None) -> float:
    if small:
        return jain(ground, min(TENANTS, small // EACH), EACH, small)
    return jain(ground, TENANTS, EACH, BACKLOG)


def _drains(options: Options, ground: Ground) -> Measured:
    sides: dict[str, Callable[[int], Rate]] = {
        "plain": lambda tasks: _drained(ground, tasks),
        "tenants": lambda tasks: _drained(ground, tasks, tenants=min(TENANTS, tasks)),
        "wide": lambda tasks: _drained(ground, tasks, prepare=_limit_widely),
        "elsewhere": lambda tasks: _drained(ground, tasks, prepare=_limit_elsewhere),
    }
    probe = sides["plain"](min(options.tasks or PROBE, PROBE))
    tasks = options.size(probe.per_second)
    measured: Measured = {name: [] for name in sides}
    for number in range(options.rounds):
        # Forwards and backwards by turns: a drift of the machine favours nobody.
        for name in list(sides)[:: -1 if number % 2 else 1]:
            measured[name].append(sides[name](tasks))
    return measured


def _pairs(drains: Measured, name: str) -> tuple[Pair, ...]:
    return tuple(
        Pair(ours.per_second, plain.per_second)
        for ours, plain in zip(drains[name], drains["plain"], strict=True)
    )


def _drained(
    ground: Ground,
    tasks: int,
    *,
    tenants: int = 0,
    prepare: Callable[[str], None] | None = None,
) -> Rate:
    with ground.fresh() as url:
        if prepare is not None:
            prepare(url)
        preload(url, tasks, tenants)
        ground.settle(url)
        with WorkerProcess(url) as worker:
            seconds = worker.drained(tasks)
        return finished(ground, url, tasks, seconds)


def _limit_widely(url: str) -> None:
    with bench_app(url).app as app:
        app.limits.set(queue="default", max_running=WIDE, rate=WIDE, burst=WIDE)


def _limit_elsewhere(url: str) -> None:
    with bench_app(url).app as app:
        for number in range(ELSEWHERE):
            app.limits.set(queue=f"other-{number}", max_running=1, rate=1.0)
        app.tenants.set("another", weight=3)
