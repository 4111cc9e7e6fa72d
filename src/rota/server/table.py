"""Finds the route of a method and a path; every route has its decoders prepared."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from rota.server.problems import Problem
from rota.server.route import Route

NOWHERE = "nowhere"
"""The parameter of the path that the page has at an address that is not known."""
_NO_PAGE = ("v1", "assets")
"""What is below these is no page, whoever asks."""


class Ready(Struct, frozen=True, eq=False):
    """A route with what is prepared for it; the body may be left out if it is `optional`."""

    route: Route
    body: Any = None
    names: tuple[str, ...] = ()
    optional: bool = False


class Found(Struct, frozen=True, eq=False):
    """A route that was found, and the parameters of the path."""

    ready: Ready
    path: dict[str, str]


class Table:
    """All routes, looked up by literal path first, then segment by segment."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes = tuple(routes)
        self._literal: dict[str, dict[str, Ready]] = {}
        self._shaped: dict[int, list[tuple[tuple[str | None, ...], dict[str, Ready]]]] = {}
        for route in self.routes:
            self._add(route)

    def _add(self, route: Route) -> None:
        parts = route.path.strip("/").split("/")
        names = tuple(part[1:-1] for part in parts if part.startswith("{"))
        body = None if route.takes is None or route.raw else msgspec.json.Decoder(route.takes)
        ready = Ready(route, body, names, body is not None and _takes_nothing(body))
        if names:
            shape = tuple(None if part.startswith("{") else part for part in parts)
            shapes = self._shaped.setdefault(len(parts), [])
            methods = next((known for other, known in shapes if other == shape), None)
            if methods is None:
                methods = {}
                shapes.append((shape, methods))
                # What is written out goes before what may be anything.
                shapes.sort(key=lambda one: [part is None for part in one[0]])
        else:
            methods = self._literal.setdefault(route.path, {})
        if route.method in methods:
            raise ValueError(f"{route.method} {route.path} is in the table twice")
        methods[route.method] = ready

    def allowed(self, path: str) -> str:
        """Return the methods of a path; `Problem` 404 if there is none."""
        try:
            self.find("", path)
        except Problem as problem:
            if problem.meaning.status == 405:
                return dict(problem.headers)["Allow"]
            raise
        raise AssertionError("no route has an empty method")

    def page(self, path: str) -> Found | None:
        """Return what shows a person that an address is not known; None if it can be no page."""
        methods = self._literal.get("/")
        if methods is None or path.split("/")[1:2] in ([part] for part in _NO_PAGE):
            return None
        return Found(_of(methods, "GET"), {NOWHERE: path})

    def find(self, method: str, path: str) -> Found:
        """Return the route; `Problem` 404 or 405 if there is none. `path` is as it was sent."""
        methods = self._literal.get(path)
        if methods is not None:
            return Found(_of(methods, method), {})
        parts = path.strip("/").split("/")
        for shape, shaped in self._shaped.get(len(parts), ()):
            if all(part is None or part == given for part, given in zip(shape, parts, strict=True)):
                ready = _of(shaped, method)
                values = [unquote(g) for p, g in zip(shape, parts, strict=True) if p is None]
                if any(not value.isprintable() for value in values):
                    break  # no name and no id has such a character
                return Found(ready, dict(zip(ready.names, values, strict=True)))
        raise Problem("not_found", "there is no such address; see /openapi.json for all")


def _takes_nothing(decoder: "msgspec.json.Decoder[Any]") -> bool:
    """Say whether a body may be left out: everything in it has a default."""
    try:
        decoder.decode(b"{}")
    except msgspec.ValidationError:
        return False
    return True


def _of(methods: dict[str, Ready], method: str) -> Ready:
    ready = methods.get(method)
    if ready is None:
        more = ("HEAD", "OPTIONS") if "GET" in methods else ("OPTIONS",)
        allowed = ", ".join(sorted((*methods, *more)))
        raise Problem(
            "method_not_allowed",
            f"this address takes {allowed}, not {method}",
            headers=(("Allow", allowed),),
        )
    return ready
