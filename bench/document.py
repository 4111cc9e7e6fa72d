"""The page `docs/benchmarks.md`: written by the benchmarks, never by hand."""

from collections.abc import Sequence

from bench.options import DIALECTS
from bench.report import Result, rows

_HEAD = """\
# Benchmarks

This page holds what `python -m bench` printed; `python -m bench all --write docs/benchmarks.md`
writes it anew. No figure on it was typed in by hand; run it to get the figures of your machine.

## How to read it

Every rate stands beside a control that was measured in the same run: the same rows and the same
moves by raw SQL, at the same batch sizes, with the same durability, and nothing around them. Trust
the **ratio**. It is the median of the rounds' own ratios, and what else the machine does hits both
sides of it; a rate on its own says as much about the machine and its disk as about Rota.

## How it is measured

- Both sides take turns (A B, B A, A B), each in a fresh process on a fresh store. The first run of
  all sizes the rounds and is thrown away.
- The stores are as durable as they are for users: PostgreSQL with its defaults (`fsync` and
  `synchronous_commit` on), SQLite with a write-ahead log and `synchronous=full`. Server, worker and
  client share the machine.
- **submit**: from the first call to the last answer; each batch is answered after its commit. The
  control's rows are made beforehand, so it does nothing but store them.
- **drain**: one worker process with its default settings works off a preloaded backlog of handlers
  that do nothing. The time runs from the first finished batch to the last, as the store has it; all
  tasks must be finished at the end. Start-up is outside.
- **latency**: tasks are submitted at fixed instants, whatever became of those before, and timed
  from that instant to the handler's first line. The control is a lone commit of one row: a task is
  begun after two commits at least, that of its submit and that of its claim.
- **lateness**: from the instant at which a delayed task was due to the handler's first line.
- **idle**: every statement of a worker without work is counted, other than SQLite's look at
  `data_version`; processor time is measured in a run in which nothing is counted.
- **memory**: the greatest resident size of the client and of the worker, as the kernel has it.
- **purge**: claims at an even pace on a store with a million old tasks, first in peace, then while
  the pruner of a worker drops them; the ratio is that of the p99.
- **schedules**: ten thousand schedules of varied rules and zones come at one instant; from that
  instant until the worker's store has each task. The rate counts to the last one, and the control
  stores as many rows that were made beforehand.
- **tenants**: the same drain with 3,000 lanes beside one with a single lane.
- **fairness**: how many tasks of a great tenant begin before the last 50 of another (with 1 slot,
  50 slots, two workers), Jain's index of 3,000 small tenants beside a great one, what each class
  gets of a saturated queue; racing workers under a cap and a rate; and drains by turns: plain, of
  3,000 tenants, under limits that do not bind, and with limits elsewhere.
- **http**: single submits over 50 kept connections to one server process, from another process,
  each answered after its commit, and beside it 50 `asubmit` callers straight at the store; batches
  of 500; a remote worker's drain beside that of a worker at the store; what 200 listeners cost the
  server while 500 tasks a second change; how much its memory grew while singles came in.
- **caps**: 8 workers of 100 slots for a minute under a cap of 200, under a cap of 1, and under 500
  starts a second: the most that handlers and the store saw, and the windows of 0.1, 1 and 5 seconds
  that held more starts than the burst and the rate allow.

## How to run it

```
make bench ARGS="drain --store postgres"         # a table
python -m bench submit --single --json           # one JSON object
python -m bench latency --store postgres --url postgresql://you@host/any
```

With `--url` the benchmark makes databases of its own (`rota_bench_…`) beside the one that is named,
and removes them; for SQLite it is the folder of the file that counts, and with it the disk.
"""


def document(results: Sequence[Result]) -> str:
    """Return the page."""
    parts = [_HEAD, "## The machine", "", *_machine(results)]
    for store in DIALECTS:
        here = [result for result in results if result.store == store]
        if here:
            parts += ["", f"## On {_NAMES[store]}", "", *_rates(here), "", *_waits(here)]
            parts += ["", *_details(here)[:-1]]
    return "\n".join(parts) + "\n"


RATES = ("submit", "submit single", "drain", "schedules", "tenants", "fairness", "caps", "http")
WAITS = ("latency", "lateness")
_NAMES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}


def _machine(results: Sequence[Result]) -> list[str]:
    lines: dict[str, None] = {}
    for result in results:
        for name, value in result.facts.items():
            if name != "load":
                lines[f"- {name}: {value}"] = None
    loads = [result.facts["load"].split()[0] for result in results if "load" in result.facts]
    if loads:
        lines[f"- load before the scenarios: {min(loads)} to {max(loads)}"] = None
    return list(lines)


def _rates(results: Sequence[Result]) -> list[str]:
    lines = ["| scenario | rate | control | ratio | measured |", "|---|---|---|---|---|"]
    for result in results:
        if result.scenario not in RATES:
            continue
        lines.append(
            f"| {result.scenario} | {result.rate:,.0f}/s | {result.control_rate:,.0f}/s "
            f"| **{result.ratio:.2f}** | {result.tasks:,} tasks in {result.seconds:.0f} s |"
        )
    return lines


def _waits(results: Sequence[Result]) -> list[str]:
    lines = [
        "| scenario | p50 | p99 | max | early | lone commit p50, p99 | ratio of p50 |",
        "|---|---|---|---|---|---|---|",
    ]
    for result in results:
        waits = result.waits
        if waits is None or result.scenario not in WAITS:
            continue
        commit, worst = result.more["control_p50_ms"], result.more["control_p99_ms"]
        lines.append(
            f"| {result.scenario} | {waits.p50_ms:.1f} ms | {waits.p99_ms:.1f} ms "
            f"| {waits.max_ms:.1f} ms | {waits.early} | {commit:.1f}, {worst:.1f} ms "
            f"| {result.ratio:.2f} |"
        )
    return lines


def _details(results: Sequence[Result]) -> list[str]:
    lines = []
    for result in results:
        lines += [f"### {result.scenario}: {result.what}", ""]
        lines += [f"- {name}: {value}" for name, value in rows(result)]
        lines += [f"- beside: {result.control}", ""]
    return lines
