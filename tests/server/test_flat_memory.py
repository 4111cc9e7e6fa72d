"""What a server remembers has bounds: names that nobody has heard before leave it as it was.

http-and-cli.md §0 point 6 and §10: memory is flat, whatever is asked for.
"""

import asyncio
import gc
import types
from collections import deque

import pytest

from rota import Rota
from rota.clock import ManualClock, new_rng
from rota.engine import Engine, classes, measuring, remote
from rota.server import events, holdings, known_kinds, place
from rota.server.front import Front
from rota.server.place import Place
from rota.server.routes import table
from rota.server.table import Table
from tests.server.doors import ON_SQLITE
from tests.server.hand import Hand, done
from tests.support.asking import Asker, KnownKeys

A_ROUND = 12
FEW = 5
CONTAINERS = (dict, list, set, frozenset, tuple, deque)
APART = (type, types.ModuleType, types.FunctionType, asyncio.AbstractEventLoop, asyncio.Task)


def entries(*roots: object) -> dict[str, int]:
    """How many things are in the containers that can be reached, by the class that has them."""
    seen, found = set[int](), dict[str, int]()
    left = [(root, type(root).__name__) for root in roots]
    while left:
        one, owner = left.pop()
        if id(one) in seen or isinstance(one, APART):
            continue
        seen.add(id(one))
        own = type(one).__module__.startswith("rota")
        if isinstance(one, CONTAINERS) or own:
            owner = type(one).__name__ if own else owner
            if isinstance(one, CONTAINERS):
                found[owner] = found.get(owner, 0) + len(one)
            left += [(inner, owner) for inner in gc.get_referents(one)]
    return found


async def work(asker: Asker, name: str) -> None:
    """Everything that brings a name along, once, as workers and callers do it."""
    task = {"kind": f"kind-{name}", "queue": f"queue-{name}", "tenant": f"tenant-{name}"}
    once = {"Idempotency-Key": name}
    for headers in (once, once, {}):
        assert (await asker.ask("POST", "/v1/tasks", task, headers=headers)).status < 300
    await asker.ask("POST", "/v1/tasks/batch", [task | {"key": f"key-{name}", "tags": [name]}])
    await asker.ask("GET", f"/v1/tasks?queue=queue-{name}&tag={name}")
    await asker.ask("GET", f"/no/such/{name}")
    await asker.ask(name.upper(), "/v1/tasks")
    await asker.using(f"read@tenant-{name}").ask("GET", "/v1/tasks")
    stream = asker.stream(f"/v1/events?queue=queue-{name}")
    await anext(stream)
    await stream.aclose()
    hand = Hand(asker.using("worker"))
    await hand.open(name, queues=[task["queue"]], kinds=[task["kind"]])
    got = await hand.got(queues=[task["queue"]])
    await hand.ask("heartbeat", {"held": len(got)})
    verdicts = await hand.finish(*[done(one) for one in got[1:]])
    assert {one["verdict"] for one in verdicts} == {"applied"}


@ON_SQLITE
async def test_new_names_leave_no_more_behind_than_the_last_ones(
    engine: Engine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sessions whose workers vanish, kinds, queues, tenants, keys, paths, methods and streams."""
    for module, bound in (
        (holdings, "SESSIONS_MOST"),
        (remote, "SESSIONS_MOST"),
        (known_kinds, "KINDS_MOST"),
        (place, "FACES_MOST"),
        (events, "RING"),
        (measuring, "TOTALS_MOST"),
        (classes, "QUEUES_MOST"),
    ):
        assert getattr(module, bound) <= 10_000
        monkeypatch.setattr(module, bound, FEW)
    here = Place(Rota("sqlite:///unused.db"), engine, rng=new_rng(3), any_kind=True)
    here.events.follows = False
    asker = Asker(Front(here, Table(table()), KnownKeys()), "admin")
    found = []
    for turn in range(4):
        for n in range(A_ROUND):
            await work(asker, f"{turn}-{n}")
        clock.advance(3_600)
        await engine.reap()
        await engine.flush()
        engine.news.flush()  # how much of it has gone out by itself is a matter of real time
        gc.collect()
        found.append(entries(here, engine.news, engine.measuring, engine._remote_claims))
    here.events.drain()

    grown = {name: [one.get(name, 0) for one in found] for name in found[-1]}
    growing = {name: n for name, n in grown.items() if n[3] - n[2] >= A_ROUND and n[2] > n[1]}
    assert growing == {}
