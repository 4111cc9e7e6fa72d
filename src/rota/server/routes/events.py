"""`GET /v1/events`: live changes as server-sent events (R9.2)."""

from typing import Annotated

from msgspec import Meta

from rota.access import Role
from rota.clock import parse_id
from rota.server.events_frames import TOPICS, WHOLE, View
from rota.server.events_listener import Listener
from rota.server.problems import Problem
from rota.server.route import Answer, Call, In, Route, Stream, roles

MEDIA = "text/event-stream"
HEADERS = (("X-Accel-Buffering", "no"),)


class EventsQuery(In, frozen=True):
    """What to listen to: topics with commas between them, of a queue, or of one task.

    `after` is where to go on, like the header Last-Event-ID. `limit` ends it after so many events.
    """

    topics: str | None = None
    queue: str | None = None
    task: str | None = None
    after: str | None = None
    limit: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None


async def listen(call: Call) -> Answer | Stream:
    query, events = call.query, call.place.events
    task = None if query.task is None else parse_id(query.task) or query.task
    view = View(call.caller.scope, query.queue, task)
    listener = Listener(
        call.caller,
        view,
        _topics(call),
        most=query.limit,
        admission=(call.route, call.headers, call.address, "GET"),
    )
    events.admit = call.place.admit
    first = events.join(listener, call.headers.get("last-event-id") or query.after)
    metrics = call.place.metrics
    metrics.listeners = events.listeners

    def ended() -> None:
        events.leave(listener)
        metrics.listeners = events.listeners

    return Stream(listener.chunks(first), MEDIA, HEADERS, ended)


def _topics(call: Call) -> frozenset[str]:
    bound = call.caller.scope.bound
    if call.query.topics is None:
        if call.query.task is not None:
            return frozenset({"tasks"})
        return frozenset(topic for topic in TOPICS if not (bound and topic in WHOLE))
    wanted = [topic.strip() for topic in call.query.topics.split(",")]
    for topic in wanted:
        if topic not in TOPICS:
            detail = f"{topic!r:.80} is no topic; there are {', '.join(TOPICS)}"
            where = {"in": "query", "pointer": "/topics", "detail": detail}
            raise Problem("validation_failed", f"topics: {detail}", errors=[where])
        if bound and topic in WHOLE:
            raise Problem("forbidden", f"{topic} is for keys without a tenant and without queues")
    return frozenset(wanted)


ROUTES = (
    Route(
        method="GET", path="/v1/events", name="events_listen",
        summary="Hear of changes as they happen; what to look at again, never what it is.",
        run=listen, roles=roles(Role.READ), tag="events", query=EventsQuery,
        codes=((429, "too_many_streams"),), stream=True,
    ),
)  # fmt: skip
