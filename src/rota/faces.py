"""One verb, two faces: written once as a coroutine, to be called or to be awaited (design §3)."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from rota.sync import Portal

P = ParamSpec("P")
R = TypeVar("R")


class OnPortal(Protocol):
    """Whatever has its verbs run on an app's private loop."""

    @property
    def _portal(self) -> Portal: ...


S = TypeVar("S", bound=OnPortal)


def blocking(
    verb: Callable[Concatenate[S, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[S, P], R]:
    """Return the face of a verb that waits for it, from any thread."""

    @wraps(verb)
    def face(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._portal.run(lambda: verb(self, *args, **kwargs))

    return named(face, verb, "")


def awaited(
    verb: Callable[Concatenate[S, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, R]]:
    """Return the face of a verb that is awaited, on any event loop."""

    @wraps(verb)
    async def face(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._portal.arun(lambda: verb(self, *args, **kwargs))

    return named(face, verb, "a")


F = TypeVar("F", bound=Callable[..., Any])


def named(face: F, verb: Callable[..., Any], prefix: str) -> F:
    """Give a face the name under which it is called: `_get` becomes `get` or `aget`."""
    name = prefix + verb.__name__.removeprefix("_")
    face.__name__ = name
    face.__qualname__ = verb.__qualname__.rpartition(".")[0] + "." + name
    return face
