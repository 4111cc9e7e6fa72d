"""`rota sessions list | show | drain`: the workers that are at work."""

from typing import Annotated

from cyclopts import Parameter

from rota import views
from rota.app import Rota
from rota.cli.ids import SHORTEST_PREFIX
from rota.cli.opening import open_app
from rota.cli.options import COMMON, Common
from rota.cli.output import Output
from rota.cli.problems import UsageError
from rota.cli.shares import Held, tell_held
from rota.cli.text import relative, short_ids, visible
from rota.clock import SystemClock, parse_id
from rota.errors import SessionNotFound
from rota.sessions import WorkerSession
from rota.times import show_instant

HEADINGS = ("ID", "NAME", "HOST", "PID", "STATUS", "HELD", "SLOTS", "QUEUES", "VERSION", "HEARD")

Id = Annotated[str, Parameter(name="ID", help="The session's id, or the beginning of it.")]


def list_(
    *,
    ended: Annotated[bool, Parameter(help="Also those that are over.")] = False,
    common: Common = COMMON,
) -> None:
    """List the workers that are at work.

    Where, with how many tasks of how many at once, and when it was last heard of.

    For instance:

        $ rota sessions list
        $ rota sessions list --ended --json
    """
    with open_app(common, reads=True) as app:
        found = app.sessions.list(live=not ended)
    now = SystemClock().now()
    held = [Held(_view(one, now), _cells(one, now), _seen(one, now)) for one in found]
    tell_held(Output(common), HEADINGS, held, "No worker is at work.", common)


def show(session_id: Id, /, *, common: Common = COMMON) -> None:
    """Show a worker's session.

    What it takes and what it holds; also one that is over, for about an hour.

    For instance:

        $ rota sessions show 0193f29f
    """
    with open_app(common, reads=True) as app:
        found = find_session(app, session_id)
    output, now = Output(common), SystemClock().now()
    shown = _view(found, now)
    if common.json:
        output.document(shown)
        return
    output.line(f"{output.styled(found.session.id, 'bold')}  {_status(found, now)}")
    for name in ("name", "host", "pid", "version", "slots", "held", "started_at", "lease_until"):
        output.line(f"  {name:<11} {visible(str(shown[name]))}")
    for name in ("queues", "kinds"):
        output.line(f"  {name:<11} {visible(' '.join(getattr(found.session, name)))}")


def drain(session_id: Id, /, *, common: Common = COMMON) -> None:
    """Ask a worker to end once it is through with what it holds.

    It takes no more tasks from its next heartbeat on, some ten seconds at most.

    For instance:

        $ rota sessions drain 0193f29f
    """
    with open_app(common) as app:
        found = app.sessions.drain(find_session(app, session_id).session.id)
    output = Output(common)
    if common.json:
        output.document(_view(found, SystemClock().now()))
    else:
        output.line(f"{found.session.name} was asked to end; it holds {found.held} tasks")


def find_session(app: Rota, text: str) -> WorkerSession:
    """Return the session that an id or a unique beginning of one names; `SessionNotFound`."""
    if parse_id(text) is not None:
        return app.sessions.get(text)
    digits = text.strip().removesuffix("…").replace("-", "").lower()
    if len(digits) < SHORTEST_PREFIX:
        raise UsageError(f"{text!r} is too short for an id; give {SHORTEST_PREFIX} digits or more")
    found = [
        one
        for one in app.sessions.list(live=False)
        if one.session.id.replace("-", "").startswith(digits)
    ]
    if len(found) > 1:
        raise UsageError(f"several sessions begin with {text!r}; give more of the id")
    if not found:
        raise SessionNotFound(text)
    return found[0]


def _view(one: WorkerSession, now: int) -> dict[str, object]:
    return views.session(one.session, one.held, now)


def _status(one: WorkerSession, now: int) -> str:
    if one.session.closed_at is not None or one.session.lease_until <= now:
        return "over"
    return "active" if one.session.drain_at is None else "draining"


def _cells(one: WorkerSession, now: int) -> list[str]:
    session = one.session
    return [
        session.id,
        session.name,
        session.host,
        str(session.pid),
        _status(one, now),
        str(one.held),
        str(session.slots),
        " ".join(session.queues),
        session.version,
        show_instant(_heard(one)),
    ]


def _seen(one: WorkerSession, now: int) -> list[str]:
    cells = _cells(one, now)
    return [short_ids([one.session.id])[0], *cells[1:-1], relative(_heard(one), now)]


def _heard(one: WorkerSession) -> int:
    return min(views.heard_at(one.session), one.session.lease_until)
