"""The faces of a verb that makes a change of many tasks ready: in numbers or one by one.

Written once, as a method that returns a `Bulk`; called blocking or, with an `a` before, awaited.
"""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from rota.bulk import Bulk, Report
from rota.faces import named

S = TypeVar("S")
A = TypeVar("A")
R = TypeVar("R", bound=Report[Any])
P = ParamSpec("P")


def counted(verb: Callable[Concatenate[S, P], Bulk[A, R]]) -> Callable[Concatenate[S, P], R]:
    """Return the face that carries the change out and says in numbers what it did."""

    @wraps(verb)
    def face(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return verb(self, *args, **kwargs).run()

    return named(face, verb, "")


def acounted(
    verb: Callable[Concatenate[S, P], Bulk[A, R]],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, R]]:
    """Return the same face, to be awaited."""

    @wraps(verb)
    async def face(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await verb(self, *args, **kwargs).arun()

    return named(face, verb, "a")


def listed(
    verb: Callable[Concatenate[S, P], Bulk[A, R]],
) -> Callable[Concatenate[S, P], Iterator[tuple[str, A]]]:
    """Return the face that carries the change out and yields what became of each task."""

    @wraps(verb)
    def face(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[tuple[str, A]]:
        return verb(self, *args, **kwargs).each()

    return named(face, verb, "")


def alisted(
    verb: Callable[Concatenate[S, P], Bulk[A, R]],
) -> Callable[Concatenate[S, P], AsyncIterator[tuple[str, A]]]:
    """Return the same face, to be iterated over by `async for`."""

    @wraps(verb)
    def face(self: S, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[tuple[str, A]]:
        return verb(self, *args, **kwargs).aeach()

    return named(face, verb, "a")
