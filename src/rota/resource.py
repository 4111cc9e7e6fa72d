"""What handlers of a worker share: opened once, handed to those that ask, closed at the end."""

import inspect
from collections.abc import Callable
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from rota.errors import ConfigurationError


class Resource:
    """Something that a worker opens at its first use, once, and closes when it stops (R8.2).

    An async function opens it on the worker's event loop, a plain one in a thread.
    It stands as the default of a parameter: `db: Database = database`. Such a parameter is no part
    of the payload. The function that opens it may itself have such parameters.
    """

    def __init__(self, opener: Callable[..., Any]) -> None:
        if not callable(opener):
            raise ConfigurationError(f"a resource must be a function, not {opener!r}")
        self.name = getattr(opener, "__name__", type(opener).__name__)
        self.needs: dict[str, Resource] = {}
        for parameter in inspect.signature(opener).parameters.values():
            if isinstance(parameter.default, Resource):
                self.needs[parameter.name] = parameter.default
            elif parameter.default is inspect.Parameter.empty:
                raise ConfigurationError(
                    f"resource {self.name}: parameter {parameter.name} has no default; "
                    "only other resources can be handed to it"
                )
        self.is_async = inspect.isasyncgenfunction(opener) or inspect.iscoroutinefunction(opener)
        if inspect.isasyncgenfunction(opener):
            opener = asynccontextmanager(opener)
        elif inspect.isgeneratorfunction(opener):
            opener = contextmanager(opener)
        self.open = opener
        self.__doc__ = opener.__doc__

    def __repr__(self) -> str:
        return f"<resource {self.name}>"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"{self.name} is a resource, which only a worker opens; when you call a handler "
            f"yourself, hand one in. (asked for: {name})"
        )
