"""What is wrong with the work, judged by facts alone: who waits for what, and what to do."""

import shlex
from collections.abc import Iterator

from msgspec import Struct

from rota.access import Key
from rota.alerting import QUEUE as WEBHOOKS
from rota.config import MINUTE, SECOND
from rota.diagnosis import Finding, Severity, StoreFacts, Waiting
from rota.model import Micros, Session
from rota.policy.diagnosis_store import of_file, of_server
from rota.policy.patterns import takes
from rota.shares import LimitUse, Settings

SOON = 30 * SECOND
"""Work may wait for so long before it is asked who should do it: workers come and go."""
LONG = MINUTE
REAPED_BY = 10 * SECOND
"""After a lease is over, so much later at the latest somebody should have taken back its tasks."""
OFFSET_MOST = SECOND
DEAD_LETTERS = 100
"""From here on it is too many (R9.4)."""
COUNTED = 1_000
"""From here on it is not known how many more wait."""
GROWTH = 10
"""So many within an hour are growth."""

_ORDER = (Severity.ERROR, Severity.WARNING, Severity.NOTE)


class Facts(Struct, frozen=True):
    """Everything that is known at `now`; `offset` is how far this machine's clock is ahead."""

    now: Micros
    kept: StoreFacts = StoreFacts()
    offset: Micros = 0
    sessions: tuple[Session, ...] = ()
    settings: Settings = Settings()
    uses: tuple[LimitUse, ...] = ()
    keys: tuple[Key, ...] = ()

    @property
    def store(self) -> str:
        """What the store is, in a word and a number."""
        if self.kept.server is not None:
            return f"PostgreSQL {self.kept.server.shown}"
        return "SQLite" if self.kept.file is None else f"SQLite {self.kept.file.version}"


def findings(facts: Facts) -> list[Finding]:
    """Return all that is not as it should be."""
    found: list[Finding] = []
    if facts.kept.server is not None:
        found += of_server(facts.kept.server)
    if facts.kept.file is not None:
        found += of_file(facts.kept.file)
    for part in (_clock, _keys, _waiting, _overrun, _held, _schedules, _dead_letters, _limits):
        found += part(facts)
    return found


def worst_first(found: list[Finding]) -> tuple[Finding, ...]:
    """Return the findings in the order in which they want to be read."""
    return tuple(sorted(found, key=lambda finding: _ORDER.index(finding.severity)))


def _clock(facts: Facts) -> Iterator[Finding]:
    if abs(facts.offset) > OFFSET_MOST:
        yield Finding(
            Severity.WARNING,
            "clock_offset",
            f"this machine's clock is {abs(facts.offset) / SECOND:.1f} s "
            f"{'ahead of' if facts.offset > 0 else 'behind'} the store's; Rota goes by the "
            "store's, other programs and logs do not",
            "let the machines keep their time: timedatectl set-ntp true",
            {"offset_s": round(facts.offset / SECOND, 3)},
        )


def _keys(facts: Facts) -> Iterator[Finding]:
    if not any(key.live(facts.now) for key in facts.keys):
        yield Finding(
            Severity.NOTE,
            "no_key",
            "there is no key; a server listens on this machine alone until there is one",
            "rota keys create NAME --role admin",
        )


# -- what waits -----------------------------------------------------------------------------------


def _waiting(facts: Facts) -> Iterator[Finding]:
    by_queue: dict[str, list[Waiting]] = {}
    for waiting in facts.kept.waiting:
        by_queue.setdefault(waiting.queue, []).append(waiting)
    for queue, kinds in by_queue.items():
        if facts.settings.queue(queue).paused_at is not None:
            yield _paused("queue", queue, kinds, facts.now)
            continue
        takers = [session for session in facts.sessions if takes(session.queues, queue)]
        old = [waiting for waiting in kinds if facts.now - waiting.oldest > SOON]
        if old and not takers:
            yield _no_worker(queue, kinds, facts.now)
            continue
        for waiting in kinds:
            yield from _kind_waiting(facts, waiting, takers)


def _kind_waiting(facts: Facts, waiting: Waiting, takers: list[Session]) -> Iterator[Finding]:
    settings = facts.settings.kinds.get(waiting.kind)
    if settings is not None and settings.paused_at is not None:
        yield _paused("kind", waiting.kind, [waiting], facts.now)
        return
    wait = facts.now - waiting.oldest
    able = [session for session in takers if waiting.kind in session.kinds]
    if wait > SOON and not able:
        yield Finding(
            Severity.WARNING,
            "unknown_kind",
            f"{_tasks([waiting])} in queue {waiting.queue}, but no live worker that takes "
            f"it knows the kind {waiting.kind}",
            f"start a worker whose app has it, or: rota cancel --kind {waiting.kind}",
            _numbers([waiting], facts.now) | {"kind": waiting.kind},
        )
    elif wait > LONG and able and _free(facts, able) and not _held_back(facts, waiting.queue):
        yield Finding(
            Severity.WARNING,
            "waits_while_idle",
            f"tasks of kind {waiting.kind} wait in queue {waiting.queue} while workers that can "
            f"run them have {_free(facts, able)} slots free",
            f"rota list --state ready --queue {waiting.queue}, then: rota explain ID",
            _numbers([waiting], facts.now) | {"free_slots": _free(facts, able)},
        )


def _free(facts: Facts, sessions: list[Session]) -> int:
    held = {holder.session: holder.count for holder in facts.kept.held}
    return sum(max(session.slots - held.get(session.id, 0), 0) for session in sessions)


def _held_back(facts: Facts, queue: str) -> bool:
    """Say whether something holds the queue's tasks back that is meant to."""
    if any(tenant.paused_at is not None for tenant in facts.settings.tenants.values()):
        return True
    return any(
        use.limit.queue in (None, queue) and (_full(use) or (use.tokens or 1.0) < 1.0)
        for use in facts.uses
    )


def _full(use: LimitUse) -> bool:
    return use.limit.max_running is not None and use.running >= use.limit.max_running


def _no_worker(queue: str, kinds: list[Waiting], now: Micros) -> Finding:
    return Finding(
        Severity.ERROR,
        "no_worker",
        f"{_tasks(kinds)} in queue {queue}, and no live worker takes it",
        # What is to be told to webhooks is the servers' own.
        "rota server APP" if queue == WEBHOOKS else f"rota worker APP --queue {queue}",
        _numbers(kinds, now),
    )


def _paused(noun: str, name: str, kinds: list[Waiting], now: Micros) -> Finding:
    return Finding(
        Severity.WARNING,
        f"{noun}_paused",
        f"{noun} {name} is paused, and {_tasks(kinds)}",
        f"rota {noun}s resume {name}",
        _numbers(kinds, now) | {noun: name},
    )


def _tasks(kinds: list[Waiting]) -> str:
    number = _count(kinds)
    if number == 1:
        return "1 task waits"
    return f"{number} tasks wait" if number < COUNTED else f"{COUNTED} tasks or more wait"


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _count(kinds: list[Waiting]) -> int:
    return sum(waiting.count for waiting in kinds)


def _numbers(kinds: list[Waiting], now: Micros) -> dict[str, object]:
    oldest = min(waiting.oldest for waiting in kinds)
    return {
        "queue": kinds[0].queue,
        "waiting": _count(kinds),
        "oldest_s": round((now - oldest) / SECOND, 1),
    }


# -- what runs, and what should -------------------------------------------------------------------


def _overrun(facts: Facts) -> Iterator[Finding]:
    for task in facts.kept.overrun:
        yield Finding(
            Severity.ERROR,
            "overrunning",
            f"task {task.task_id} ({task.kind}) runs for longer than its timeout and a lease",
            f"rota cancel {task.task_id} --deadline 10s",
            {
                "task_id": task.task_id,
                "session": task.session,
                "running_s": round((facts.now - task.started_at) / SECOND, 1),
                "timeout_s": task.timeout / SECOND,
            },
        )


def _held(facts: Facts) -> Iterator[Finding]:
    for holder in facts.kept.held:
        over_at = holder.lease_until if holder.closed_at is None else holder.closed_at
        if facts.now - over_at > REAPED_BY:
            yield Finding(
                Severity.ERROR,
                "dead_holder",
                f"worker {holder.name or holder.session} is over and still holds "
                f"{_many(holder.count, 'task')}: nobody takes back what it holds",
                "start a worker, without --no-reap",
                {
                    "session": holder.session,
                    "held": holder.count,
                    "over_s": round((facts.now - over_at) / SECOND, 1),
                },
            )


def _schedules(facts: Facts) -> Iterator[Finding]:
    late = facts.kept.late
    if late:
        what = f"{_many(len(late), 'schedule')} should have fired, {late[0].name} for one"
        yield Finding(
            Severity.ERROR,
            "schedules_late",
            what if facts.sessions else f"{what}, and there is no live worker to fire them",
            "start a worker, without --no-schedule; its log says why it cannot fire one",
            {
                "late": len(late),
                "schedule": late[0].name,
                "late_s": round((facts.now - late[0].next_at) / SECOND, 1),
            },
        )


def _dead_letters(facts: Facts) -> Iterator[Finding]:
    dead = facts.kept.dead_letters
    if dead.recent >= GROWTH or dead.open >= DEAD_LETTERS:
        yield Finding(
            Severity.WARNING,
            "dead_letters",
            f"{_many(dead.open, 'dead letter')} to be dealt with; {dead.recent} came in the last "
            "hour",
            "rota dead-letters groups",
            {"open": dead.open, "recent": dead.recent},
        )


def _limits(facts: Facts) -> Iterator[Finding]:
    for use in facts.uses:
        if _full(use):
            limit = use.limit
            # The tenant of tasks without any is "", which has to be typed like that.
            scope = {
                f"--{noun}": shlex.quote(name)
                for noun, name in (("queue", limit.queue), ("tenant", limit.tenant))
                if name is not None
            }
            yield Finding(
                Severity.NOTE,
                "limit_full",
                f"limit {'/'.join(scope.values())} runs "
                f"{use.running} of {limit.max_running}; what else falls under it waits",
                "if it may be more: rota limits set "
                f"{' '.join(f'{option} {name}' for option, name in scope.items())} "
                "--max-running N",
                {"running": use.running, "max_running": limit.max_running},
            )
