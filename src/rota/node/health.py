"""Whether a process is alive and ready, from memory: a probe costs the store nothing (R9.3)."""

import asyncio
from contextlib import suppress
from typing import Any

from rota.engine import Engine
from rota.engine.vitals import Vitals
from rota.errors import StoreError

FRESH = 10.0
"""The store has answered, and duties were done, within so many seconds."""
OFFSET_MOST = 60.0
"""Rota goes by the store's clock; one that is this far off spoils logs and certificates."""
LOOK_EVERY = 3.0

ALIVE = {"status": "ok"}
"""What says that the event loop turns."""


def readiness(
    vitals: Vitals, *, draining: bool, needs_tick: bool = True
) -> tuple[bool, dict[str, Any]]:
    """Return whether work may be sent here, and what was checked; no names, no addresses."""
    store, tick = vitals.age(), vitals.tick_age()
    checks: dict[str, dict[str, Any]] = {
        "store": {"ok": store is not None and store <= FRESH, "age_s": _rounded(store)},
        "scheduler_tick": {
            "ok": not needs_tick or (tick is not None and tick <= FRESH),
            "age_s": _rounded(tick),
        },
        "migrations": {"ok": vitals.opened},
        "clock": {
            "ok": abs(vitals.offset) <= OFFSET_MOST,
            "offset_s": _rounded(vitals.offset),
        },
    }
    ready = not draining and all(check["ok"] for check in checks.values())
    status = "draining" if draining else "ready" if ready else "not_ready"
    return ready, {"status": status, "checks": checks}


async def keep_looking(engine: Engine) -> None:
    """Ask the store now and then, where nothing else has lately, until cancelled."""
    while True:
        # Before the store is open for the first time there is nothing to ask.
        if engine.vitals.opened:
            # If it does not answer, what is told is how long ago it last did.
            with suppress(StoreError, TimeoutError):
                async with asyncio.timeout(FRESH):
                    await engine.look()
        await engine.clock.sleep(LOOK_EVERY)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
