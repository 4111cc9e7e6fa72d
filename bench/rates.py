"""From the rates of both sides, round by round, to a result."""

from collections.abc import Callable, Sequence
from statistics import median

from bench.figures import MICROSECONDS, Pair, Rate, Waits, median_ratio
from bench.options import Options
from bench.report import Result
from bench.rounds import take_turns

PROBE = 50_000
"""Tasks of the first, unmeasured run that says how large a round must be."""


def compare(
    scenario: str,
    options: Options,
    ours: Callable[[int], Rate],
    control: Callable[[int], Rate],
    *,
    what: str,
    against: str,
    waits: Callable[[], Waits | None] = lambda: None,
) -> Result:
    """Run both sides in turns, with rounds that take Rota the time that was asked for.

    `waits` is asked at the end for what was measured beside the rates.
    """
    # The first run of all warms the machine up and is thrown away, whatever the size.
    probe = ours(min(options.tasks or PROBE, PROBE))
    tasks = options.size(probe.per_second)
    rounds = take_turns(lambda: ours(tasks), lambda: control(tasks), options.rounds)
    pairs = tuple(
        Pair(mine.per_second, theirs.per_second)
        for mine, theirs in zip(rounds.ours, rounds.control, strict=True)
    )
    return Result(
        scenario=scenario,
        store=options.store,
        tasks=sum(rate.tasks for rate in rounds.ours),
        seconds=sum(rate.seconds for rate in rounds.ours),
        rate=median(pair.ours for pair in pairs),
        control_rate=median(pair.control for pair in pairs),
        ratio=median_ratio(pairs),
        what=what,
        control=against,
        waits=waits(),
        pairs=pairs,
        more={
            "cpu_us_a_task": _cpu(rounds.ours),
            "control_cpu_us_a_task": _cpu(rounds.control),
        },
    )


def _cpu(rates: Sequence[Rate]) -> float:
    return median(rate.cpu_seconds_a_task for rate in rates) * MICROSECONDS
