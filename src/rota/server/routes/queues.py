"""Queues over HTTP: how each is shared out and bounded, what waits, and pauses (R7, R1.7)."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from rota import share_views
from rota.access import Role
from rota.config import LEVEL
from rota.model import Session
from rota.policy.patterns import EXCEPT, is_pattern, takes
from rota.queues import Queue
from rota.server import etags
from rota.server.named_pages import Named, page_of
from rota.server.queue_figures import figures_of
from rota.server.reasons import Reason
from rota.server.route import Answer, Call, In, Route, roles
from rota.server.shapes import queues as shapes
from rota.shares import FairBy, QueueSettings, Weights, WhenFull
from rota.views import seconds

TAG = "queues"


class QueueChange(In, frozen=True):
    """What to set of a queue: what is absent stays, null is the default."""

    weights: dict[str, int] | str | UnsetType | None = UNSET
    aging: float | str | UnsetType | None = UNSET
    fair_by: FairBy | UnsetType | None = UNSET
    max_depth: int | UnsetType | None = UNSET
    when_full: WhenFull | UnsetType | None = UNSET


USUAL: dict[str, Any] = {
    "weights": msgspec.to_builtins(Weights()),
    "aging": seconds(LEVEL),
    "fair_by": FairBy.TASKS,
    "when_full": WhenFull.REFUSE,
}


async def list_queues(call: Call) -> Answer:
    found = {queue.settings.name: queue for queue in await call.faces.queues.alist()}
    sessions = await _sessions(call)
    figures = await figures_of(call)
    for name in {*figures.names, *_named(sessions)} - found.keys():
        found[name] = Queue(QueueSettings(name=name))
    chosen = [
        queue
        for _, queue in sorted(found.items())
        if call.query.paused in (None, queue.settings.paused_at is not None)
    ]

    def show(queue: Queue) -> dict[str, Any]:
        name = queue.settings.name
        return _view(queue) | {"slots": _slots(sessions, name)} | figures.of(name)

    return await page_of(call, chosen, lambda queue: queue.settings.name, show)


async def get_queue(call: Call) -> Answer:
    name = call.path["name"]
    settings = await call.faces.queues.aget(name)
    depths, _ = await call.backend.depths([name], (), _CAP)
    waiting = next((depth.waiting for depth in depths), 0)
    sessions, figures = await _sessions(call), await figures_of(call)
    shown = _view(Queue(settings, waiting, waiting >= _CAP))
    shown |= {"slots": _slots(sessions, name)} | figures.of(name)
    return etags.tagged(shown, settings.version)


async def update_queue(call: Call) -> Answer:
    name, changes = call.path["name"], etags.given(call.body, USUAL)
    queues = call.faces.queues

    async def version() -> int:
        return (await queues.aget(name)).version

    changed = await etags.guarded(
        call, lambda at: queues.aset(name, version=at, **changes), version
    )
    return _shown(changed)


async def reset_queue(call: Call) -> Answer:
    name = call.path["name"]
    etags.check(call, (await call.faces.queues.aget(name)).version)
    await call.faces.queues.areset(name)
    return Answer(status=204)


async def pause_queue(call: Call) -> Answer:
    return _shown(await call.faces.queues.apause(call.path["name"], call.body.reason))


async def resume_queue(call: Call) -> Answer:
    return _shown(await call.faces.queues.aresume(call.path["name"]))


_CAP = 10_000


def _view(queue: Queue) -> dict[str, Any]:
    return share_views.queue(queue.settings) | {"waiting": queue.waiting, "capped": queue.capped}


def _shown(settings: QueueSettings) -> Answer:
    return etags.tagged(share_views.queue(settings), settings.version)


async def _sessions(call: Call) -> Sequence[Session] | None:
    """Return the live sessions; None for keys of a part, which see none of them."""
    return None if call.caller.scope.bound else await call.backend.sessions()


def _named(sessions: Sequence[Session] | None) -> Iterable[str]:
    for session in sessions or ():
        yield from (word for word in session.queues if word[:1] != EXCEPT and not is_pattern(word))


def _slots(sessions: Sequence[Session] | None, queue: str) -> int | None:
    if sessions is None:
        return None
    return sum(session.slots for session in sessions if takes(session.queues, queue))


ROUTES = (
    Route(
        method="GET", path="/v1/queues", name="queues_list", summary="List queues.",
        run=list_queues, roles=roles(Role.READ), tag=TAG, query=Named, answers=shapes.QueuePage,
    ),
    Route(
        method="GET", path="/v1/queues/{name}", name="queues_get", summary="Show a queue.",
        run=get_queue, roles=roles(Role.READ), tag=TAG, answers=shapes.Queue,
    ),
    Route(
        method="PATCH", path="/v1/queues/{name}", name="queues_update",
        summary="Change how a queue is shared out.", run=update_queue, roles=roles(Role.ADMIN),
        tag=TAG, takes=QueueChange, answers=shapes.QueueSettings, audit="queue.update",
        codes=etags.CODES, headers=etags.IF_MATCH, example={"max_depth": 100_000},
    ),
    Route(
        method="DELETE", path="/v1/queues/{name}", name="queues_reset",
        summary="Forget a queue's settings, back to the defaults.", run=reset_queue,
        roles=roles(Role.ADMIN), tag=TAG, status=204, audit="queue.reset",
        codes=etags.CODES, headers=etags.IF_MATCH,
    ),
    Route(
        method="POST", path="/v1/queues/{name}/pause", name="queues_pause",
        summary="Let no task of a queue start.", run=pause_queue, roles=roles(Role.OPERATE),
        tag=TAG, takes=Reason, answers=shapes.QueueSettings, audit="queue.pause",
        example={"reason": "provider down"},
    ),
    Route(
        method="POST", path="/v1/queues/{name}/resume", name="queues_resume",
        summary="Let tasks of a queue start again.", run=resume_queue, roles=roles(Role.OPERATE),
        tag=TAG, answers=shapes.QueueSettings, audit="queue.resume",
    ),
)  # fmt: skip
