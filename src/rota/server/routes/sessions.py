"""Workers' sessions over HTTP: who is at work, with how much (R9.1); the protocol is elsewhere."""

from rota.access import Role
from rota.clock import parse_id
from rota.model import Session, State, TaskFilter
from rota.server.named_pages import begins_after, page
from rota.server.paging import PageQuery
from rota.server.problems import Problem
from rota.server.route import Answer, Call, Route, roles
from rota.server.shapes import sessions as shapes
from rota.views import session as view

TAG = "sessions"
HELD_CAP = 10_000
"""More than a worker holds."""


class SessionsQuery(PageQuery, frozen=True):
    """Which sessions to list, and where the page begins."""

    live: bool = True


async def list_sessions(call: Call) -> Answer:
    _check_whole(call)
    after = await begins_after(call)
    found = await call.backend.sessions(live=call.query.live)
    newest = sorted(found, key=_place, reverse=True)
    left = [session for session in newest if after is None or _place(session) < after]
    shown = left[: call.query.limit]
    held = {session.id: await _held(call, session) for session in shown}
    now = call.place.clock.now()
    return await page(
        call,
        shown,
        _place,
        lambda session: view(session, held[session.id], now),
        more=len(left) > len(shown),
    )


def _place(session: Session) -> str:
    """Return where a session stands among others: ids of remote ones say nothing of their age."""
    return f"{session.started_at:017d} {session.id}"


async def get_session(call: Call) -> Answer:
    _check_whole(call)
    wanted = parse_id(call.path["id"])
    for session in await call.backend.sessions(live=False):
        if session.id == wanted:
            held = await _held(call, session)
            return Answer(view(session, held, call.place.clock.now()))
    raise Problem("not_found", f"no session has the id {call.path['id']!r:.80}")


async def _held(call: Call, session: Session) -> int:
    counts = await call.backend.count(
        TaskFilter(states=(State.RUNNING,), session=session.id), HELD_CAP
    )
    return sum(counts.values())


def _check_whole(call: Call) -> None:
    # Workers serve all tenants; whoever sees a part sees nothing of them.
    if call.caller.scope.bound:
        raise Problem("forbidden", "sessions are for keys without a tenant and without queues")


ROUTES = (
    Route(
        method="GET", path="/v1/sessions", name="sessions_list", summary="List workers' sessions.",
        run=list_sessions, roles=roles(Role.READ), tag=TAG, query=SessionsQuery,
        answers=shapes.SessionPage,
    ),
    Route(
        method="GET", path="/v1/sessions/{id}", name="sessions_get",
        summary="Show a worker's session.", run=get_session, roles=roles(Role.READ), tag=TAG,
        answers=shapes.Session,
    ),
)  # fmt: skip
