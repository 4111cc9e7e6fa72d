"""The dashboard as it was built into the package: read once, in memory, ready to be sent (R9.2).

A source checkout that has not built it says how to; nothing else depends on it.
"""

import gzip
import hashlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from msgspec import Struct

MEDIA = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
FOREVER = "public, max-age=31536000, immutable"
"""What has a hash in its name never changes under it."""
FRESH = "no-cache"
"""Asked for each time, and answered in a few bytes if nothing changed."""
SMALL = 512
"""Smaller ones are not worth compressing."""


class BuiltFile(Struct, frozen=True):
    """A file of the dashboard: as it is, compressed, and how a browser may keep it."""

    body: bytes
    packed: bytes | None
    media: str
    cache: str
    etag: str


@cache
def built() -> dict[str, BuiltFile]:
    """Return the files of the dashboard by their paths; none if it has not been built.

    Only what the build makes is read: scripts, styles, pictures and the one page.
    """
    folder = files("rota.server") / "dashboard"
    found = {f"/{one.name}": _read(one, FRESH) for one in _files(folder)}
    found |= {f"/assets/{one.name}": _read(one, FOREVER) for one in _files(folder / "assets")}
    return found if "/index.html" in found else {}


def _files(folder: Traversable) -> list[Traversable]:
    if not folder.is_dir():
        return []
    return [one for one in folder.iterdir() if one.is_file() and _ending(one) in MEDIA]


def _read(file: Traversable, cache_control: str) -> BuiltFile:
    body = file.read_bytes()
    packed = gzip.compress(body, mtime=0) if len(body) > SMALL else None
    return BuiltFile(
        body=body,
        packed=packed if packed is not None and len(packed) < len(body) else None,
        media=MEDIA[_ending(file)],
        cache=cache_control,
        etag=f'"{hashlib.sha256(body).hexdigest()[:32]}"',
    )


def _ending(file: Traversable) -> str:
    return file.name.rpartition(".")[2]
