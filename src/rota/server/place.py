"""What the routes of one server process share: the app, the engine, access and what is watched."""

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

from rota.access import EVERYTHING, Scope
from rota.app import Rota
from rota.backend import Backend
from rota.clock import Clock, Ids, Rng
from rota.engine import Engine
from rota.registry import Kind
from rota.server.caller import Caller
from rota.server.cursors import Cursors
from rota.server.endings import Endings
from rota.server.events import Events
from rota.server.faces import Faces
from rota.server.gauges import Gauges
from rota.server.health import Health
from rota.server.holdings import Holdings
from rota.server.hosts import Hosts
from rota.server.intake import Intake
from rota.server.login import Logins
from rota.server.metrics import Metrics
from rota.server.scoped import scoped
from rota.server.telling import Telling
from rota.server.waiting import Waiting

FACES_MOST = 1_000


class Place:
    """One server process, as its routes see it; belongs to one event loop.

    Parts that live as long as the process (events, figures, waiting claims) are attributes here.
    What they do beside the calls goes into `background`: started with the server, cancelled at its
    end. `on_drain` is called as soon as the server is told to stop: whatever waits for news or
    streams ends then, for open connections hold up the end.
    """

    def __init__(self, app: Rota, engine: Engine, *, rng: Rng, any_kind: bool = False) -> None:
        self.app = app
        self.engine = engine
        self.rng = rng
        self.ids = Ids(rng)
        self.any_kind = any_kind
        self.intake = Intake(app, engine, any_kind=any_kind)
        self.draining = False
        self.background: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self.on_drain: list[Callable[[], None]] = []
        self.internal: list[Kind] = []
        self.notes: list[Callable[[str, str, int, float], None]] = []
        self.gauges = Gauges(engine, app.registry)
        self.metrics = Metrics(engine, app.registry, self.gauges)
        self.notes.append(self.metrics.request)
        self.health = Health(self)
        self.admit: Callable[..., Awaitable[Caller]] | None = None
        self.events = Events(engine, rng, self.gauges.figures)
        self.on_drain.append(self.events.drain)
        self.hosts = Hosts()
        self.cursors = Cursors(partial(engine.secret, "cursors"))
        self.endings = Endings(engine)
        self.on_drain.append(self.endings.drain)
        self.logins = Logins(engine)
        self.holdings = Holdings(engine)
        self.waiting = Waiting(engine)
        self.background.append(self.waiting.run)
        self.on_drain.append(self.waiting.stop)
        self.streams = 0
        """How many workers listen to hints."""
        self._faces: dict[Scope, Faces] = {}
        self.telling = Telling(self.faces(EVERYTHING).webhooks, engine.clock, self.ids)
        self.internal.append(self.telling.kind())

    @property
    def clock(self) -> Clock:
        """The time of this server: that of its store."""
        return self.engine.clock

    def seen(self, template: str, method: str, status: int, seconds: float) -> None:
        """Take note of a call that was answered, by its route's path."""
        for note in self.notes:
            note(template, method, status, seconds)

    def reach(self, scope: Scope) -> Backend:
        """Return the backend as far as a scope reaches."""
        return self.engine if scope == EVERYTHING else scoped(self.engine, scope)

    @property
    def patient(self) -> int:
        """How many calls only wait: for work, for the end of a task, for hints or for events."""
        waiting = self.waiting.waiting + self.endings.waiting
        return waiting + self.streams + self.events.listeners

    def faces_on(self, backend: Backend) -> Faces:
        """Return the faces of the app on a backend of one call."""
        return Faces(self.app, backend)

    def faces(self, scope: Scope) -> Faces:
        """Return the faces of the app as far as a scope reaches."""
        known = self._faces.get(scope)
        if known is None:
            if len(self._faces) >= FACES_MOST:
                self._faces.clear()
            known = self._faces[scope] = Faces(self.app, self.reach(scope))
        return known
