"""What has changed, told thinly: to whoever listens here, and to other processes (R9.2).

News says what to look at again, never what it is now. It is collected after the commit, one cheap
call a batch, and goes out at most four times a second: what does not fit becomes "and more". It may
be lost like any hint; whoever needs to be sure reads.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import islice

import msgspec
from msgspec import Struct

KEPT = 100
"""So many changes of a topic are named at a time; of others it is only said that there are more."""
BYTES_MOST = 7_900
"""PostgreSQL takes notes of less than 8,000 bytes."""

PROGRESS = "progress"
"""What happened to a task that told how far it is: its lists stay as they are."""


class Topic(StrEnum):
    """What news is about."""

    TASKS = "tasks"
    QUEUES = "queues"
    """Settings of queues, tenants and kinds, and limits."""
    SCHEDULES = "schedules"
    DEAD_LETTERS = "dead_letters"
    SESSIONS = "sessions"
    ALERTS = "alerts"
    ACTIONS = "actions"


class Change(Struct, frozen=True, gc=False):
    """One thing that changed: `what` is a task's state or what happened to another thing.

    `queue` and `tenant` are None where they are not known, or where there are none.
    """

    id: str
    what: str
    queue: str | None = None
    tenant: str | None = None


class News(Struct, frozen=True):
    """What changed of one topic; with `more` further things did that are not named."""

    changes: tuple[Change, ...] = ()
    more: bool = False


Paper = Mapping[Topic, News]
"""What changed of all topics in one window."""
UNKNOWN: Paper = {topic: News(more=True) for topic in Topic}
"""Something changed, and nobody knows what."""


class Window:
    """What changed since it was last taken; of one thing the last change counts."""

    def __init__(self) -> None:
        self._changes: dict[Topic, dict[str, Change]] = {}
        self._more: set[Topic] = set()

    def __bool__(self) -> bool:
        return bool(self._changes or self._more)

    def add(self, topic: Topic, changes: Iterable[Change]) -> None:
        """Take in what changed, as far as there is room; the rest is not even looked at."""
        if topic in self._more:
            return
        known = self._changes.get(topic, {})
        rest = iter(changes)
        for change in islice(rest, KEPT):
            if len(known) >= KEPT and change.id not in known:
                self._more.add(topic)
                break
            known[change.id] = change
        else:
            if next(rest, None) is not None:
                self._more.add(topic)
        if known:
            self._changes[topic] = known

    def more(self, topic: Topic) -> None:
        """Take note that something changed of which no more is known."""
        self._more.add(topic)

    def merge(self, paper: Paper) -> None:
        """Take in what another window had."""
        for topic, news in paper.items():
            self.add(topic, news.changes)
            if news.more:
                self._more.add(topic)

    def take(self) -> Paper:
        """Return what changed, and begin anew."""
        changes, more = self._changes, self._more
        self._changes, self._more = {}, set()
        return {
            topic: News(tuple(changes.get(topic, {}).values()), topic in more)
            for topic in Topic
            if topic in changes or topic in more
        }


class _Group(Struct, frozen=True, array_like=True):
    """Changes that differ in their ids alone."""

    what: str
    queue: str | None
    tenant: str | None
    ids: list[str]


class _Note(Struct, frozen=True, array_like=True):
    """What one process tells the others, by topic: whether there is more, and what is named."""

    origin: str
    topics: dict[str, tuple[bool, list[_Group]]]


_DECODER = msgspec.json.Decoder(_Note)


def written(paper: Paper, origin: str) -> str:
    """Return news as text; what would make that too long is left out and counts as more."""
    kept = KEPT
    while True:
        topics = {topic.value: _grouped(news, kept) for topic, news in paper.items()}
        text = msgspec.json.encode(_Note(origin, topics))
        if len(text) <= BYTES_MOST or not kept:
            return text.decode()
        kept //= 2


def _grouped(news: News, kept: int) -> tuple[bool, list[_Group]]:
    groups: dict[tuple[str, str | None, str | None], list[str]] = {}
    for change in news.changes[:kept]:
        groups.setdefault((change.what, change.queue, change.tenant), []).append(change.id)
    more = news.more or len(news.changes) > kept
    return more, [_Group(*alike, ids) for alike, ids in groups.items()]


def read(text: str, own: str = "") -> Paper:
    """Return the news of a text; topics of newer versions are left out, one's own news as well."""
    try:
        note = _DECODER.decode(text)
    except msgspec.DecodeError:
        return UNKNOWN
    if note.origin == own:
        return {}
    return {
        Topic(topic): News(
            tuple(
                Change(one, group.what, group.queue, group.tenant)
                for group in groups
                for one in group.ids
            ),
            more,
        )
        for topic, (more, groups) in note.topics.items()
        if topic in _TOPICS
    }


_TOPICS = frozenset(Topic)
