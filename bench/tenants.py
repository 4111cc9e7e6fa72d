"""What many tenants cost: a drain of 3,000 lanes beside a drain of one."""

from bench.drain import drained
from bench.figures import Rate
from bench.options import Options
from bench.rates import compare
from bench.report import Result
from bench.stores import Ground

TENANTS = 3_000


def run(options: Options, ground: Ground) -> Result:
    """Measure a drain of many tenants' tasks against one of as many tasks of one tenant."""

    def many(tasks: int) -> Rate:
        return drained(ground, tasks, min(TENANTS, tasks))

    def one(tasks: int) -> Rate:
        return drained(ground, tasks)

    return compare(
        "tenants",
        options,
        many,
        one,
        what=f"one worker, {TENANTS:,} tenants with as many tasks each",
        against="the same worker, as many tasks of one tenant",
    )
