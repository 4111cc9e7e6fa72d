"""Waiting for what a store shows."""

import time

from bench.stores import Ground, count_rows

PATIENCE = 600.0
LOOK = 0.2


def wait_for_rows(
    ground: Ground, url: str, rows: str, count: int, *, or_more: bool = False
) -> None:
    """Wait until a table, or a part of it, has so many rows."""
    until = time.monotonic() + PATIENCE
    while (found := count_rows(ground, url, rows)) != count and not (or_more and found > count):
        if time.monotonic() > until:
            raise RuntimeError(f"there are {found} rows of {rows}, not {count}, after {PATIENCE} s")
        time.sleep(LOOK)
