"""Frames of server-sent events: what they say, to whom, and their bytes (R9.2)."""

import msgspec
from msgspec import Struct

from rota.access import EVERYTHING, Scope
from rota.engine.news import PROGRESS, Change, News, Topic
from rota.model import Micros
from rota.times import show_instant

STATS = "stats"
TOPICS = (*(topic.value for topic in Topic), STATS)
"""What can be listened to."""
WHOLE = (Topic.SESSIONS.value, Topic.ALERTS.value, Topic.ACTIONS.value, STATS)
"""What is about everybody: keys of a tenant or of some queues hear nothing of it."""

_BY_TASK = (Topic.TASKS, Topic.DEAD_LETTERS)
_BY_QUEUE = (*_BY_TASK, Topic.QUEUES, Topic.SCHEDULES)


class View(Struct, frozen=True):
    """What a listener may and wants to see; whoever has the same view gets the same bytes."""

    scope: Scope = EVERYTHING
    queue: str | None = None
    task: str | None = None

    def of(self, topic: Topic, news: News) -> News | None:
        """Return the part of the news that is seen by this; None if it is nothing.

        What is not known to be another's counts as more: it may be looked at, and is not told.
        """
        if self == _ALL:
            return news
        seen: list[Change] = []
        more = news.more
        for change in news.changes:
            match self._sees(topic, change):
                case True:
                    seen.append(change)
                case None:
                    more = True
        return News(tuple(seen), more) if seen or more else None

    def _sees(self, topic: Topic, change: Change) -> bool | None:
        """Say whether a change is seen; None if it is not known whose it is."""
        if self.task is not None and topic in _BY_TASK and change.id != self.task:
            return False
        wanted = (self.queue,) if self.queue is not None and topic in _BY_QUEUE else None
        tenants = None if self.scope.tenant is None else (self.scope.tenant,)
        unknown = False
        for known, only in (
            (change.queue, wanted),
            (change.queue, self.scope.queues),
            (change.tenant, tenants),
        ):
            if only is not None and known is None:
                unknown = True
            elif only is not None and known not in only:
                return False
        if not unknown:
            return True
        return False if change.what == PROGRESS and self.task is None else None


_ALL = View()


class Frame(Struct, frozen=True):
    """What is told at one time of one topic; frames of a process are numbered."""

    number: int
    topic: Topic
    at: Micros
    news: News

    def bytes_for(self, view: View, process: str) -> bytes | None:
        """Return what a view gets of the frame, or None."""
        seen = view.of(self.topic, self.news)
        if seen is None:
            return None
        state = self.topic is Topic.TASKS
        data = {
            "at": show_instant(self.at),
            "changed": [_shown(change, state) for change in seen.changes],
            "more": seen.more,
        }
        return event(self.topic.value, data, f"{process}-{self.number}")


def _shown(change: Change, state: bool) -> dict[str, str | None]:
    return {
        "id": change.id,
        "state" if state else "what": change.what,
        "queue": change.queue,
        "tenant": change.tenant,
    }


def event(name: str, data: object, mark: str | None = None, *, retry: int | None = None) -> bytes:
    """Return an event as it is sent.

    >>> event("bye", {"reason": "shutdown"}, retry=2000)
    b'retry: 2000\\nevent: bye\\ndata: {"reason":"shutdown"}\\n\\n'
    """
    lines = [] if retry is None else [b"retry: %d" % retry]
    if mark is not None:
        lines.append(b"id: " + mark.encode())
    lines += [b"event: " + name.encode(), b"data: " + _ENCODER.encode(data)]
    return b"\n".join(lines) + b"\n\n"


_ENCODER = msgspec.json.Encoder()
