"""The built-in kind `http`: a task that calls a URL, so that no Python is needed for it (R8.2).

Whoever can submit tasks could have a worker call addresses with it that only the worker can reach.
So a worker runs such tasks only if it is told to (`rota worker --allow-http`), and calls public
addresses alone unless it is told of others (S4, B173, B178). It needs the extra `http`.
"""

import os
import re
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Final, Unpack

import msgspec

from rota.app import Rota
from rota.clock import Micros, SystemClock, micros, wall
from rota.config import SECOND
from rota.context import Context
from rota.contrib._addresses import Reach
from rota.contrib._headers import check_headers
from rota.contrib._signature import sign
from rota.contrib._slowed import Slowed
from rota.errors import ConfigurationError, Fail, Retry, Snooze
from rota.kinds import KindOptions, make_kind
from rota.resource import Resource
from rota.task import TaskKind
from rota.times import show_instant

if TYPE_CHECKING:
    from rota.contrib._fetch import Fetcher, Request

NAME: Final = "http"
SECONDS: Final = 30.0
SECONDS_MOST: Final = 3600.0
FOLLOW_MOST: Final = 3
VARIABLE: Final = "ROTA_SECRET_"
"""A task names a secret; the worker finds it in its environment behind this, and nothing else."""

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SECRET = re.compile(r"[A-Za-z0-9_]{1,64}")
_TRACE = re.compile(r"[0-9a-f-]{1,256}")


class Line:
    """How far the calls of a worker reach, and which hosts it leaves alone for a while.

    What they go through is opened at the first of them.
    """

    def __init__(self) -> None:
        self.reach = Reach()
        self.now: Callable[[], Micros] = wall
        self.monotonic: Callable[[], float] = SystemClock().monotonic
        self.slowed = Slowed()

    async def open(self) -> "AsyncIterator[Fetcher]":
        """Open it, once a worker, and close it at the worker's end."""
        fetcher = fetcher_for(self.reach)
        try:
            yield fetcher
        finally:
            await fetcher.close()


def fetcher_for(reach: Reach) -> "Fetcher":
    """Return what calls addresses; `ConfigurationError` without the extra that it needs."""
    try:
        from rota.contrib._fetch import Fetcher
    except ImportError as error:
        raise ConfigurationError("to call URLs: pip install 'rota[http]'") from error
    return Fetcher(reach)


def add_http(
    app: Rota, *, reach: Reach | None = None, **options: Unpack[KindOptions]
) -> TaskKind[..., dict[str, Any]]:
    """Make the kind known to an app, so that it can submit calls; safe to call twice.

    `options` are those of `@app.task` and set its defaults, for instance `timeout="1h"`. Only a
    worker that allows it runs what is submitted; `reach` adds to what this process may call.
    """
    kind = app.registry.get(NAME)
    if kind is None:
        line = Line()
        options["name"] = NAME
        kind = make_kind(_handler(line), **options)
        kind.opt_in = True
    found = getattr(kind.handler, "line", None)
    if not isinstance(found, Line):
        raise ConfigurationError(
            f"the app has a task {NAME!r} of its own; give it another name=, or do without calls"
        )
    if reach is not None:
        found.reach = found.reach.with_(reach)
    return app.add(kind)


def _handler(line: Line) -> Any:
    opened: Fetcher = Resource(line.open)  # type: ignore[assignment]  # what it yields

    async def call_url(
        ctx: Context,
        *,
        url: str,
        method: str | None = None,
        headers: dict[str, str] | None = None,
        json: Any = None,
        body: str | None = None,
        timeout: float | None = None,
        envelope: bool = False,
        secret: str | None = None,
        follow: int = 0,
        fetcher: Any = opened,
    ) -> dict[str, Any]:
        """Call a URL and return its status and the first of its text.

        `secret` names what the body is signed with; with an `envelope` that says which run it is.
        """
        request = _request(
            ctx,
            url=url,
            method=method,
            headers=headers or {},
            content=_content(ctx, json, body, envelope=envelope),
            seconds=_seconds(timeout),
            secret=secret,
            follow=follow,
            now=line.now(),
        )
        return await _called(line, fetcher, request)

    call_url.line = line  # type: ignore[attr-defined]
    return call_url


async def _called(line: Line, fetcher: "Fetcher", request: "Request") -> dict[str, Any]:
    """Send the request unless its host asked for rest; return what the task's result is."""
    from rota.contrib._http_outcome import host_of, outcomes, settle, wait

    host = host_of(request.url)
    held = line.slowed.wait(host, line.monotonic())
    if held:
        raise Snooze(round(held, 3))
    async with outcomes():
        reply = await fetcher.fetch(request)
    least = wait(reply.retry_after, line.now())
    line.slowed.told(host, reply.status, least, line.monotonic())
    return settle(reply, line.now())


# -- what is sent ---------------------------------------------------------------------------------


def _request(
    ctx: Context,
    *,
    url: str,
    method: str | None,
    headers: dict[str, str],
    content: tuple[bytes | None, str],
    seconds: float,
    secret: str | None,
    follow: int,
    now: Micros,
) -> "Request":
    from rota.contrib._fetch import Request

    sent, media = content
    verb = (method or ("GET" if sent is None else "POST")).upper()
    if verb not in METHODS:
        raise Fail(f"method must be one of {', '.join(sorted(METHODS))}, not {method!r:.40}")
    if not 0 <= follow <= FOLLOW_MOST:
        raise Fail(f"follow must lie between 0 and {FOLLOW_MOST}, not {follow}")
    own = _run_headers(ctx)
    if sent is not None:
        own["Content-Type"] = media
    if secret is not None:
        stamp = now // SECOND
        try:
            own |= sign((_secret(secret),), ctx.task_id, stamp, sent or b"")
        except ConfigurationError as error:
            raise Fail(f"{secret}: {error}") from None
    return Request(
        method=verb,
        url=url,
        headers=check_headers(headers),
        own=own,
        body=sent,
        seconds=seconds,
        follow=follow,
    )


def _content(
    ctx: Context, json: Any, body: str | None, *, envelope: bool
) -> tuple[bytes | None, str]:
    """Return what is sent, encoded once: what is signed is what is sent."""
    if json is not None and body is not None:
        raise Fail("a call has either json or body, and not both")
    if envelope:
        return msgspec.json.encode(_envelope(ctx) | {"data": body if json is None else json}), JSON
    if json is not None:
        return msgspec.json.encode(json), JSON
    return (None if body is None else body.encode("utf-8", "replace")), "text/plain; charset=utf-8"


JSON: Final = "application/json"


def _envelope(ctx: Context) -> dict[str, Any]:
    """Return what says which run this is, for receivers that keep out the old ones by its fence."""
    return {
        "task": ctx.task_id,
        "attempt": ctx.attempt,
        "fence": ctx.fence,
        "scheduled_at": show_instant(micros(ctx.slot or ctx.run_at)),
        "deadline": None if ctx.deadline is None else show_instant(micros(ctx.deadline)),
    }


def _run_headers(ctx: Context) -> dict[str, str]:
    """Return the headers that say which run this is (R3.3, R3.5)."""
    run = _envelope(ctx)
    found = {
        "Idempotency-Key": f'"{ctx.idempotency_key}"',
        "Rota-Task": run["task"],
        "Rota-Attempt": str(run["attempt"]),
        "Rota-Fence": str(run["fence"]),
        "Rota-Scheduled-At": run["scheduled_at"],
    }
    if run["deadline"] is not None:
        found["Rota-Deadline"] = run["deadline"]
    trace = ctx.headers.get("traceparent", "")
    if _TRACE.fullmatch(trace):
        found["traceparent"] = trace
    return found


def _secret(name: str) -> str:
    if not _SECRET.fullmatch(name):
        raise Fail(f"{name!r:.80} cannot be the name of a secret: letters, digits and _")
    variable = VARIABLE + name.upper()
    found = os.environ.get(variable)
    if not found:
        # Another worker may have it, or a deployment brings it.
        raise Retry(f"this worker has no secret {name!r}: set {variable} where it runs")
    return found


def _seconds(timeout: float | None) -> float:
    if timeout is None:
        return SECONDS
    if not 0 < timeout <= SECONDS_MOST:
        raise Fail(f"timeout must be above 0 and at most {SECONDS_MOST:g} seconds, not {timeout}")
    return timeout
