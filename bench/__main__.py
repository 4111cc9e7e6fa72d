"""`python -m bench`: one scenario on one store, or all of them on both."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from bench import (
    caps,
    drain,
    fairness,
    http,
    idle,
    latency,
    lateness,
    memory,
    purge,
    schedules,
    submit,
    tenants,
)
from bench.document import document
from bench.options import DIALECTS, ROUNDS, Options
from bench.report import Result, as_json, as_text
from bench.stores import Ground, ground
from rota.errors import RotaError

SCENARIOS: dict[str, Callable[[Options, Ground], Result]] = {
    "submit": submit.run,
    "drain": drain.run,
    "latency": latency.run,
    "lateness": lateness.run,
    "idle": idle.run,
    "memory": memory.run,
    "tenants": tenants.run,
    "purge": purge.run,
    "fairness": fairness.run,
    "caps": caps.run,
    "schedules": schedules.run,
    "http": http.run,
}


def measure(scenario: str, options: Options) -> Result:
    """Run one scenario on one store; the machine's state is noted before it."""
    with ground(options) as place:
        facts = place.facts()
        return replace(SCENARIOS[scenario](options, place), facts=facts)


def measure_all(options: Options) -> list[Result]:
    """Run every scenario on both stores."""
    results = []
    for store in DIALECTS:
        here = replace(options, store=store, url=None)
        for scenario in SCENARIOS:
            results.append(_told(measure(scenario, here)))
            if scenario == "submit":
                results.append(_told(measure(scenario, replace(here, single=True))))
    return results


def _told(result: Result) -> Result:
    sys.stderr.write(f"{as_text(result)}\n\n")
    return result


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure Rota beside raw controls in the same run. Trust the ratios: they "
        "hold on a busy machine too, where no rate does.",
    )
    parser.add_argument("scenario", choices=[*SCENARIOS, "all"])
    parser.add_argument("--store", choices=DIALECTS, default="sqlite")
    parser.add_argument("--url", help="a server or folder of your own; a database is made beside")
    parser.add_argument("--seconds", type=float, help="measured work of a round")
    parser.add_argument("--tasks", type=int, help="tasks of a round, instead of --seconds")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--single", action="store_true", help="submit: one task a call")
    parser.add_argument("--callers", type=int, default=100, help="submit --single: at once")
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--write", type=Path, help="all: the page to write")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; return the exit code."""
    asked = _parser().parse_args(arguments)
    options = Options(
        store=asked.store,
        url=asked.url,
        seconds=asked.seconds,
        tasks=asked.tasks,
        rounds=asked.rounds,
        single=asked.single,
        callers=asked.callers,
    )
    show = as_json if asked.json else as_text
    try:
        if asked.scenario != "all":
            print(show(measure(asked.scenario, options)))
            return 0
        results = measure_all(options)
    except RotaError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    if asked.write is not None:
        asked.write.write_text(document(results), encoding="utf-8")
    else:
        print("\n".join(show(result) for result in results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
