"""The machine and the versions that the figures belong to."""

import os
import platform
from pathlib import Path

import apsw
import psutil

from rota.store.sqlite.connection import connect

_SETTINGS = ("server_version", "fsync", "synchronous_commit", "wal_sync_method", "shared_buffers")


def machine(folder: Path) -> dict[str, str]:
    """Return the facts about this machine that figures depend on; `folder` holds the data."""
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    return {
        "cores": str(psutil.cpu_count() or 1),
        "processor": _processor(),
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "filesystem": _filesystem(folder),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "load": load,
    }


def sqlite_facts(path: Path) -> dict[str, str]:
    """Return SQLite's version and how durable the store's commits are."""
    connection = connect(path)
    try:
        level = connection.pragma("synchronous")
        mode = connection.pragma("journal_mode")
    finally:
        connection.close()
    names = {0: "off", 1: "normal", 2: "full", 3: "extra"}
    return {
        "sqlite": apsw.sqlite_lib_version(),
        "durability": f"journal_mode={mode}, synchronous={names.get(level, level)}",
    }


def postgres_facts(settings: dict[str, str]) -> dict[str, str]:
    """Return PostgreSQL's version and how durable its commits are."""
    durability = ", ".join(f"{name}={settings[name]}" for name in _SETTINGS[1:])
    return {"postgresql": settings["server_version"], "durability": durability}


async def postgres_settings(connection: object) -> dict[str, str]:
    """Return the settings that figures depend on."""
    found = {}
    for name in _SETTINGS:
        found[name] = str(await connection.fetchval(f"show {name}"))  # type: ignore[attr-defined]
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _filesystem(folder: Path) -> str:
    places = sorted(psutil.disk_partitions(all=True), key=lambda p: len(p.mountpoint))
    within = [p for p in places if folder.resolve().is_relative_to(p.mountpoint)]
    return within[-1].fstype if within else "unknown"
