"""Where spans begin and end, for whoever wants to follow a task through it all (R9.3).

A tracer is set on an app's registry by `rota.contrib.otel.instrument`. Without one every place that
could begin a span only looks whether there is one.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import msgspec

from rota.config import HEADERS, HEADERS_BYTES
from rota.model import Claimed, NewTask
from rota.policy.lifecycle import Ending

PARENT = "traceparent"
"""The header of a task, and of an HTTP request, that says which span it comes from."""

_PARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")

Ended = Callable[[BaseException | None], None]
"""To be called once when what a span stands for is over, with the error if it failed."""


class Tracer(Protocol):
    """Begins spans; called on hot paths, so it must not block, and never raise."""

    def sending(self, tasks: Sequence[NewTask]) -> tuple[Sequence[NewTask], Ended]:
        """Begin a submit; return the tasks with its context in their headers."""
        ...

    def processing(self, task: Claimed) -> Callable[[Ending], None]:
        """Begin a run, and make it the current span of whoever calls; ended with its ending."""
        ...

    def received(self, tasks: Sequence[Claimed], seconds: float) -> None:
        """Take note of a claim that took so long and handed out these tasks, at least one."""
        ...

    def settled(self, tasks: Sequence[Claimed], seconds: float, failed: bool) -> None:
        """Take note of a report on these tasks that took so long, and of whether it was refused."""
        ...


@contextmanager
def sending(tracer: Tracer | None, tasks: Sequence[NewTask]) -> Iterator[Sequence[NewTask]]:
    """Follow a submit of these tasks: submit those that come out of it."""
    if tracer is None:
        yield tasks
        return
    sent, ended = tracer.sending(tasks)
    try:
        yield sent
    except BaseException as error:
        ended(error)
        raise
    ended(None)


def with_headers(headers: str | None, more: dict[str, str]) -> str | None:
    """Return a task's headers with some more, which never replace what is there.

    What would not fit any more is left out: a task is worth more than its trace.
    """
    given: dict[str, str] = {} if headers is None else msgspec.json.decode(headers)
    added = {name: value for name, value in more.items() if name not in given}
    if not added or len(given) + len(added) > HEADERS:
        return headers
    text = msgspec.json.encode(given | added)
    return headers if len(text) > HEADERS_BYTES else text.decode()


def with_parent(headers: str | None, parent: str | None) -> str | None:
    """Return a task's headers with the `traceparent` of the request that it came with, if sound."""
    if parent is None or not _PARENT.fullmatch(parent):
        return headers
    return with_headers(headers, {PARENT: parent})
