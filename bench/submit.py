"""How fast tasks are accepted: `submit_many` from a generator, or many callers with one each."""

import asyncio
import time

from bench import control_postgres, control_sqlite
from bench.app import bench_app, phone
from bench.figures import Rate, Stopwatch, Waits
from bench.options import Options
from bench.process import apart
from bench.rates import compare
from bench.report import Result
from bench.stores import Ground, count_rows
from bench.tasks import BATCH, calls
from rota.sync import new_event_loop


def run(options: Options, ground: Ground) -> Result:
    """Measure accepting; every rate counts from the first call to the last answer."""
    insert = (control_sqlite if options.store == "sqlite" else control_postgres).insert
    how = "COPY" if options.store == "postgres" else "executemany"
    batch = options.callers if options.single else BATCH
    waits: list[float] = []

    def ours(tasks: int) -> Rate:
        with ground.fresh() as url:
            if options.single:
                rate, waited = apart(submit_single, url, tasks, options.callers)
                waits.extend(waited)
            else:
                rate = apart(submit_many, url, tasks)
            return _checked(ground, url, rate)

    def control(tasks: int) -> Rate:
        with ground.fresh() as url:
            return _checked(ground, url, apart(insert, url, tasks, batch))

    return compare(
        "submit single" if options.single else "submit",
        options,
        ours,
        control,
        what=(
            f"{options.callers} concurrent asubmit callers, each answered after its commit"
            if options.single
            else "submit_many from a generator"
        ),
        against=f"the same rows, made beforehand, by {how}, {batch} in a transaction",
        waits=lambda: Waits.of(waits) if waits else None,
    )


def submit_many(url: str, tasks: int) -> Rate:
    """Submit lazily made calls; connecting is not counted."""
    bench = bench_app(url)
    with bench.app as app:
        app.tasks.count()
        watch = Stopwatch()
        return watch.rate(app.submit_many(calls(bench, tasks)).created)


def submit_single(url: str, tasks: int, callers: int) -> tuple[Rate, list[float]]:
    """Submit one by one from so many callers at once; return how long each call took as well."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_submit_single(url, tasks, callers))


async def _submit_single(url: str, tasks: int, callers: int) -> tuple[Rate, list[float]]:
    app, noop, *_ = bench_app(url)
    numbers = iter(range(tasks))
    waits: list[float] = []

    async def caller() -> None:
        for number in numbers:
            asked = time.perf_counter()
            await noop.asubmit(number, phone=phone(number))
            waits.append(time.perf_counter() - asked)

    await app.tasks.acount()
    watch = Stopwatch()
    await asyncio.gather(*(caller() for _ in range(callers)))
    rate = watch.rate(len(waits))
    app.close()
    return rate, waits


def _checked(ground: Ground, url: str, rate: Rate) -> Rate:
    """Return the rate if all is stored that it speaks of."""
    stored = count_rows(ground, url, "ready")
    if stored != rate.tasks:
        raise RuntimeError(f"{rate.tasks} tasks were accepted, {stored} are stored")
    return rate
