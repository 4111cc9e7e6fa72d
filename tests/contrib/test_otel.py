"""Spans from the submit to the handler (R9.3), kept in memory by the SDK."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from rota import Backoff, Rota
from rota.clock import new_rng
from rota.contrib.otel import ids_of_span, instrument, uninstrument
from rota.node.settings import WorkerSettings
from rota.node.worker import Worker
from rota.tracing import with_headers, with_parent

CANARY = "canary-7f1c"
PARENT = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"


class Traced:
    """An app whose spans are kept."""

    def __init__(self, folder: Path) -> None:
        self.app = Rota(f"sqlite:///{folder / 'rota.db'}")
        self.kept = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.kept))
        self.ended = asyncio.Event()
        self.awaited = 1

    def spans(self, word: str) -> list[ReadableSpan]:
        """The spans whose names begin with a word, in the order of their beginnings."""
        found = [s for s in self.kept.get_finished_spans() if s.name.split(" ")[0] == word]
        return sorted(found, key=lambda span: span.start_time or 0)

    def over(self) -> None:
        """Tell that one run is over."""
        self.awaited -= 1
        if not self.awaited:
            self.ended.set()

    async def work(self) -> None:
        """Run a worker until as many runs are over as are awaited."""
        worker = Worker(self.app.registry, self.app.connect(), WorkerSettings(), rng=new_rng(1))
        running = asyncio.create_task(worker.run())
        async with asyncio.timeout(60):
            await self.ended.wait()
            worker.drain()
            await running


@pytest.fixture
def traced(tmp_path: Path) -> Traced:
    """An app on an empty store, with its spans."""
    traced = Traced(tmp_path)
    instrument(traced.app, tracer_provider=traced.provider)
    return traced


def place(context: Any) -> tuple[int, int]:
    """Where a span is, as others know it."""
    return context.trace_id, context.span_id


def linked(span: ReadableSpan) -> list[tuple[int, int]]:
    return [place(link.context) for link in span.links]


def of(span: ReadableSpan, name: str) -> Any:
    return (span.attributes or {}).get(name)


async def test_a_run_is_linked_to_its_submit(traced: Traced) -> None:
    """R9.3: by the context that the task's headers carry."""
    seen: list[Any] = []

    @traced.app.task(queue="sms")
    async def send(phone: str) -> None:
        seen.append(ids_of_span())
        traced.over()

    accepted = await send.asubmit(CANARY)
    await traced.work()
    await asyncio.to_thread(traced.app.close)
    (sent,), (run,) = traced.spans("send"), traced.spans("process")
    assert (sent.name, sent.kind) == ("send sms", SpanKind.PRODUCER)
    assert (run.name, run.kind) == ("process sms", SpanKind.CONSUMER)
    assert linked(run) == [place(sent.context)]
    assert run.parent is None
    assert run.context is not None
    assert run.context.trace_id != (sent.context and sent.context.trace_id)
    assert seen == [
        {"trace_id": f"{run.context.trace_id:032x}", "span_id": f"{run.context.span_id:016x}"}
    ]
    for span, operation in ((sent, "send"), (run, "process")):
        assert of(span, "messaging.system") == "rota"
        assert of(span, "messaging.operation.name") == operation
        assert of(span, "messaging.destination.name") == "sms"
        assert of(span, "messaging.message.id") == accepted.id
        assert of(span, "rota.kind") == "send"
    assert (of(run, "rota.attempt"), of(run, "rota.fence")) == (1, 1)
    assert run.status.status_code is StatusCode.UNSET
    assert CANARY not in "".join(span.to_json() for span in traced.kept.get_finished_spans())


async def test_a_run_can_be_a_child_of_its_submit(traced: Traced) -> None:
    instrument(traced.app, parent=True, tracer_provider=traced.provider)

    @traced.app.task
    def plain() -> None:
        with trace.get_tracer("inner", tracer_provider=traced.provider).start_as_current_span(
            "inner"
        ):
            traced.over()

    await plain.asubmit()
    await traced.work()
    await asyncio.to_thread(traced.app.close)
    (sent,), (run,), (inner,) = map(traced.spans, ("send", "process", "inner"))
    assert place(run.parent) == place(sent.context)
    assert not run.links
    assert inner.parent == run.context, "what a handler in a thread does belongs to its run"


async def test_the_submit_belongs_to_the_span_of_its_caller(traced: Traced) -> None:
    @traced.app.task
    async def send() -> None: ...

    tracer = trace.get_tracer("web", tracer_provider=traced.provider)
    with tracer.start_as_current_span("request") as request:
        await send.asubmit()
        await asyncio.to_thread(send.submit)
    await asyncio.to_thread(traced.app.close)
    assert [span.parent for span in traced.spans("send")] == [request.get_span_context()] * 2


async def test_every_attempt_has_a_span_and_says_how_it_failed(traced: Traced) -> None:
    traced.awaited = 2

    @traced.app.task(retry=Backoff(max_attempts=2, base=0.01))
    async def fails() -> None:
        traced.over()
        raise ValueError(CANARY)

    await fails.asubmit()
    await traced.work()
    await asyncio.to_thread(traced.app.close)
    (sent,), runs = traced.spans("send"), traced.spans("process")
    assert [of(run, "rota.attempt") for run in runs] == [1, 2]
    for run in runs:
        assert run.status.status_code is StatusCode.ERROR
        assert (of(run, "error.type"), of(run, "rota.outcome")) == ("ValueError", "failed")
        assert linked(run) == [place(sent.context)]
    assert runs[0].context != runs[1].context
    assert CANARY not in "".join(run.to_json() for run in runs), "a message may hold a payload"


async def test_a_batch_has_one_span_and_workers_tell_of_theirs(traced: Traced) -> None:
    traced.awaited = 3

    @traced.app.task(queue="sms")
    async def send(n: int) -> None:
        traced.over()

    await traced.app.asubmit_many(send.bind(n) for n in range(3))
    await traced.work()
    await asyncio.to_thread(traced.app.close)
    (sent,) = traced.spans("send")
    assert of(sent, "messaging.batch.message_count") == 3
    for word in ("receive", "settle"):
        spans = traced.spans(word)
        assert {(span.name, span.kind) for span in spans} == {(f"{word} sms", SpanKind.CLIENT)}
        assert sum(of(span, "messaging.batch.message_count") for span in spans) == 3
        assert all(linked(span) == [place(sent.context)] for span in spans)
        assert all((span.start_time or 0) <= (span.end_time or 0) for span in spans)
    assert len(traced.spans("process")) == 3


async def test_an_app_that_is_not_traced_any_more_makes_no_span(traced: Traced) -> None:
    @traced.app.task
    async def send() -> None: ...

    uninstrument(traced.app)
    accepted = await send.asubmit()
    assert (await traced.app.tasks.aget(accepted.id)).headers == {}
    await asyncio.to_thread(traced.app.close)
    assert not traced.kept.get_finished_spans()


def test_headers_of_the_caller_are_kept() -> None:
    assert with_parent(None, PARENT) == msgspec.json.encode({"traceparent": PARENT}).decode()
    assert with_parent('{"traceparent":"own"}', PARENT) == '{"traceparent":"own"}'
    assert with_parent(None, "00-\r\nevil: 1") is None
    full = msgspec.json.encode({f"h{n}": "" for n in range(16)}).decode()
    assert with_headers(full, {"traceparent": PARENT}) == full, "a task is worth more than a trace"
