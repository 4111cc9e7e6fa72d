"""OpenTelemetry: spans from the submit to the handler, in one trace (R9.3).

    from rota.contrib.otel import instrument

    instrument(app)

The program brings the SDK and says where spans go; see docs/how-to/traces.md.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from rota import logs
from rota.app import Rota
from rota.config import SECOND
from rota.contrib import otel_names as names
from rota.errors import ConfigurationError
from rota.model import Claimed, NewTask
from rota.policy.lifecycle import Ending, Failed, TimedOut, outcome_of
from rota.tracing import Ended, with_headers

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

LINKS_MOST = 128
"""A span has no more links than this: the usual bound of the SDK, which drops the others anyway."""


def instrument(
    app: Rota, *, parent: bool = False, tracer_provider: "TracerProvider | None" = None
) -> Rota:
    """Let spans be made of what the app submits and what its workers run; return the app.

    A run is a trace of its own that is linked to its submit: a task may run long after it, and
    often. With `parent` it is a child of the submit instead, in the same trace.
    """
    try:
        from opentelemetry import trace
    except ImportError:
        raise ConfigurationError("traces need OpenTelemetry: pip install 'rota[otel]'") from None
    from rota import __version__

    tracer = trace.get_tracer("rota", __version__, tracer_provider)
    app.registry.tracer = Spans(tracer, parent=parent)
    if ids_of_span not in logs.sources:
        logs.sources.append(ids_of_span)
    return app


def uninstrument(app: Rota) -> None:
    """Make no more spans of what the app does."""
    app.registry.tracer = None


def ids_of_span() -> Mapping[str, str]:
    """Return the ids of the span that is current, for log records; none if there is none."""
    from opentelemetry import trace

    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}


class Spans:
    """Makes spans; see `rota.tracing.Tracer`."""

    def __init__(self, tracer: Any, *, parent: bool) -> None:
        from opentelemetry import trace
        from opentelemetry.propagate import get_global_textmap

        self._api = trace
        self._tracer = tracer
        self._parent = parent
        self._textmap = get_global_textmap()

    # -- submitting -----------------------------------------------------------------------------

    def sending(self, tasks: Sequence[NewTask]) -> tuple[Sequence[NewTask], Ended]:
        queue = _one(task.queue for task in tasks)
        attributes = names.of(names.SEND, queue)
        if len(tasks) == 1:
            attributes |= {names.MESSAGE_ID: tasks[0].id, names.KIND: tasks[0].kind}
        else:
            attributes[names.BATCH_COUNT] = len(tasks)
        kind = self._api.SpanKind.PRODUCER
        span = self._tracer.start_span(_named("send", queue), kind=kind, attributes=attributes)
        carrier: dict[str, str] = {}
        self._textmap.inject(carrier, self._api.set_span_in_context(span))
        sent = [
            structs.replace(task, headers=with_headers(task.headers, carrier)) for task in tasks
        ]

        def ended(error: BaseException | None) -> None:
            if error is not None:
                self._failed(span, type(error).__name__)
            span.end()

        return sent, ended

    # -- running --------------------------------------------------------------------------------

    def processing(self, task: Claimed) -> Callable[[Ending], None]:
        from opentelemetry import context

        attributes = names.of(names.PROCESS, task.queue) | names.of_run(task)
        came_from = self._context_of(task)
        span = self._tracer.start_span(
            f"process {task.queue}",
            context=came_from if self._parent and came_from is not None else context.Context(),
            kind=self._api.SpanKind.CONSUMER,
            attributes=attributes,
            links=[] if self._parent else self._links([task]),
        )
        # Whoever runs the handler has a context of its own, which ends with the run.
        context.attach(self._api.set_span_in_context(span))
        over = False

        def ended(ending: Ending) -> None:
            nonlocal over
            if over:
                return
            over = True
            self._end_run(span, ending)

        return ended

    def _end_run(self, span: Any, ending: Ending) -> None:
        span.set_attribute(names.OUTCOME, outcome_of(ending))
        if isinstance(ending, Failed | TimedOut):
            # The type alone: a message may hold what the payload held (S11).
            self._failed(span, ending.error.type)
        span.end()

    # -- batches of workers ---------------------------------------------------------------------

    def received(self, tasks: Sequence[Claimed], seconds: float) -> None:
        self._batch(names.RECEIVE, "receive", tasks, seconds, failed=False)

    def settled(self, tasks: Sequence[Claimed], seconds: float, failed: bool) -> None:
        self._batch(names.SETTLE, "settle", tasks, seconds, failed=failed)

    def _batch(
        self,
        operation: names.Operation,
        word: str,
        tasks: Sequence[Claimed],
        seconds: float,
        *,
        failed: bool,
    ) -> None:
        from opentelemetry import context

        queue = _one(task.queue for task in tasks)
        now = names.nanoseconds()
        span = self._tracer.start_span(
            _named(word, queue),
            context=context.Context(),
            kind=self._api.SpanKind.CLIENT,
            attributes=names.of(operation, queue) | {names.BATCH_COUNT: len(tasks)},
            links=self._links(tasks),
            start_time=now - int(seconds * SECOND) * 1000,
        )
        if failed:
            self._failed(span, "StoreError")
        span.end(now)

    # -- their parts ----------------------------------------------------------------------------

    def _failed(self, span: Any, error_type: str) -> None:
        span.set_attribute(names.ERROR_TYPE, error_type)
        span.set_status(self._api.Status(self._api.StatusCode.ERROR, error_type))

    def _context_of(self, task: Claimed) -> Any:
        if task.headers is None:
            return None
        from opentelemetry.context import Context

        try:
            carrier = msgspec.json.decode(task.headers, type=dict[str, str])
        except msgspec.MsgspecError:
            return None
        return self._textmap.extract(carrier, Context())

    def _links(self, tasks: Sequence[Claimed]) -> list[Any]:
        found = {}
        for task in tasks:
            came_from = self._context_of(task)
            if came_from is None:
                continue
            sent = self._api.get_current_span(came_from).get_span_context()
            if sent.is_valid:
                found[sent.trace_id, sent.span_id] = self._api.Link(sent)
            if len(found) == LINKS_MOST:
                break
        return list(found.values())


def _one(queues: Any) -> str | None:
    """Return the queue if there is but one."""
    distinct = set(queues)
    return distinct.pop() if len(distinct) == 1 else None


def _named(word: str, queue: str | None) -> str:
    return word if queue is None else f"{word} {queue}"
