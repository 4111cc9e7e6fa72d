"""What a server takes over HTTP: submits, batches, a remote worker, listeners, and its memory."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median

import msgspec

from bench.app import phone
from bench.drain import finished
from bench.figures import Pair, Waits, median_ratio
from bench.http_listeners import Listeners
from bench.http_load import Load, press, request
from bench.http_process import ServerProcess
from bench.options import SECONDS, Options
from bench.process import WorkerProcess, apart
from bench.report import Result
from bench.rounds import Rounds, take_turns
from bench.stores import Ground
from bench.submit import submit_single
from bench.tasks import preload

CONNECTIONS = 50
BATCH = 500
BATCH_CONNECTIONS = 2
DRAIN_PER_S = 8_000
SINGLES_PER_S = 4_000
"""About what a machine does in a second; for the size of what is measured."""
LONGEST = 10.0
LISTENERS = 200
A_KEY = 20
"""So many streams one key may have open."""
CHANGES_PER_S = 500
STEPS_PER_S = 10
WARM_SECONDS = 1.0


def run(options: Options, ground: Ground) -> Result:
    """Measure one server process from another one, over loopback."""
    seconds = options.seconds or SECONDS
    # Memory is watched for as long as is asked for; nothing else gets truer after a while.
    short = min(seconds, LONGEST)
    drained = options.tasks or round(DRAIN_PER_S * short)
    singles: list[Load] = []
    batches: list[Load] = []
    growth: list[float] = []

    def ours() -> float:
        with ground.fresh() as store, ServerProcess(store) as server:
            token = server.tokens[0]
            apart(submit_singles, server.url, token, WARM_SECONDS)
            before = server.memory
            singles.append(apart(submit_singles, server.url, token, seconds))
            growth.append(server.memory - before)
            batches.append(apart(submit_batches, server.url, token, short))
        return singles[-1].answers / singles[-1].seconds

    def control() -> float:
        with ground.fresh() as store:
            tasks = options.tasks or round(SINGLES_PER_S * short)
            rate, _ = apart(submit_single, store, tasks, CONNECTIONS)
            return rate.per_second

    rounds = take_turns(ours, control, options.rounds)
    return _result(
        options,
        rounds,
        singles,
        {
            "batch_tasks_per_s": _median_rate(batches) * BATCH,
            "remote_drain_ratio": remote_drain(ground, drained, options.rounds),
            "sse_core_share": listening(ground, short),
            "rss_slope_mb": max(growth),
        },
    )


def _result(
    options: Options, rounds: Rounds[float, float], singles: Sequence[Load], more: dict[str, float]
) -> Result:
    pairs = tuple(Pair(*pair) for pair in zip(rounds.ours, rounds.control, strict=True))
    waits = Waits.of([wait for load in singles for wait in load.waits])
    rate = _median_rate(singles)
    return Result(
        scenario="http",
        store=options.store,
        tasks=sum(load.answers for load in singles),
        seconds=sum(load.seconds for load in singles),
        rate=rate,
        control_rate=sum(rounds.control) / len(rounds.control),
        ratio=median_ratio(pairs),
        what=f"single submits over {CONNECTIONS} kept connections, each answered after its commit",
        control=f"{CONNECTIONS} asubmit callers straight at the store",
        waits=waits,
        pairs=pairs,
        more={
            "single_per_s": rate,
            "single_p99_ms": median(Waits.of(load.waits).p99_ms for load in singles),
        }
        | more,
    )


def _median_rate(loads: Sequence[Load]) -> float:
    return median(load.answers / load.seconds for load in loads)


# -- submits --------------------------------------------------------------------------------------


def submit_singles(url: str, token: str, seconds: float) -> Load:
    """Submit one by one for so many seconds."""
    numbers = _until(seconds)
    bodies = (_json({"kind": "noop", "payload": _payload(number)}) for number in numbers)
    requests = (request(url, token, "/v1/tasks", body) for body in bodies)
    return press(url, requests, CONNECTIONS, b" 201 ")


def submit_batches(url: str, token: str, seconds: float) -> Load:
    """Submit batches for so many seconds."""
    some = [{"kind": "noop", "payload": _payload(number)} for number in range(BATCH)]
    one = request(url, token, "/v1/tasks/batch?return=counts", _json(some))
    return press(url, (one for _ in _until(seconds)), BATCH_CONNECTIONS, b" 201 ")


def _until(seconds: float) -> Iterator[int]:
    number, end = 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        yield number
        number += 1


def _payload(number: int) -> dict[str, object]:
    return {"student_id": number, "phone": phone(number)}


def _json(value: object) -> bytes:
    return msgspec.json.encode(value)


# -- a worker -------------------------------------------------------------------------------------


def remote_drain(ground: Ground, tasks: int, rounds: int) -> float:
    """Return a remote worker's rate as a share of the one that is at the store itself.

    They take turns, each first in every other round; the median of the rounds' own shares counts.
    """

    def direct() -> float:
        with ground.fresh() as store:
            preload(store, tasks)
            ground.settle(store)
            with WorkerProcess(store) as worker:
                cpu = worker.drained(tasks)
            return finished(ground, store, tasks, cpu).per_second

    def remote() -> float:
        with ground.fresh() as store:
            preload(store, tasks)
            ground.settle(store)
            with (
                ServerProcess(store) as server,
                _token(server.worker_token),
                WorkerProcess(server.url) as worker,
            ):
                cpu = worker.drained(tasks)
            return finished(ground, store, tasks, cpu).per_second

    turns = take_turns(remote, direct, rounds)
    return median_ratio([Pair(*pair) for pair in zip(turns.ours, turns.control, strict=True)])


@contextmanager
def _token(token: str) -> Iterator[None]:
    os.environ["ROTA_TOKEN"] = token
    try:
        yield
    finally:
        del os.environ["ROTA_TOKEN"]


# -- listeners ------------------------------------------------------------------------------------


def listening(ground: Ground, seconds: float) -> float:
    """Return what listeners cost the server while tasks change, as a share of a core."""
    with ground.fresh() as store, ServerProcess(store, LISTENERS // A_KEY) as server:
        alone = _changing(server, seconds)
        with Listeners(server.url, server.tokens, LISTENERS) as listeners:
            heard = _changing(server, seconds)
        if not listeners.frames:
            raise RuntimeError("the listeners heard nothing")
        return max(heard - alone, 0.0)


def _changing(server: ServerProcess, seconds: float) -> float:
    """Submit at an even rate; return how much of a core the server takes meanwhile."""
    some = [{"kind": "noop", "payload": _payload(n)} for n in range(CHANGES_PER_S // STEPS_PER_S)]
    one = request(server.url, server.tokens[0], "/v1/tasks/batch?return=counts", _json(some))

    def paced() -> Iterator[bytes]:
        began = time.perf_counter()
        for step in range(round(seconds * STEPS_PER_S)):
            time.sleep(max(began + step / STEPS_PER_S - time.perf_counter(), 0))
            yield one

    before, began = server.processor_seconds, time.perf_counter()
    press(server.url, paced(), 1, b" 201 ")
    return (server.processor_seconds - before) / (time.perf_counter() - began)
