"""The reasons that a task can have to be where it is, each with its numbers (R7.8).

`until` is when a reason ends, where that is known.
"""

from typing import Literal

from msgspec import Struct

from rota.model import Micros, State, Task

Why = Literal["delay", "retry", "snooze", "again"]
"""What a task waits for its time after; `again` where it was both tried and snoozed."""


class NotDue(Struct, frozen=True, tag="not_due", tag_field="code"):
    """Its time has not come; after a failed attempt this is number `attempt` of `max_attempts`."""

    until: Micros
    why: Why
    attempt: int
    max_attempts: int | None


class InTurn(Struct, frozen=True, tag="in_turn", tag_field="code"):
    """It stands in its lane behind `ahead` others, or more where that is `capped`."""

    ahead: int
    capped: bool
    until: Micros | None = None


class AtGate(Struct, frozen=True, tag="at_gate", tag_field="code"):
    """It is due and waits at its gate: `inside` of `room` with its key are ready or running.

    `waiting` tasks wait there, this one among them; or more of either where that is `capped`.
    """

    key: str
    inside: int
    room: int
    waiting: int
    capped: bool
    until: Micros | None = None


class Paused(Struct, frozen=True, tag="paused", tag_field="code"):
    """Its queue, its tenant or its kind is paused since `since`; somebody has to resume it."""

    what: Literal["queue", "tenant", "kind"]
    name: str
    since: Micros
    reason: str | None
    until: Micros | None = None


class AtCap(Struct, frozen=True, tag="at_cap", tag_field="code"):
    """A limit that it falls under lets `most` run at once, and `running` do.

    The limit is that of a queue, a tenant, or a tenant in a queue.
    """

    queue: str | None
    tenant: str | None
    running: int
    most: int
    until: Micros | None = None


class OutOfTokens(Struct, frozen=True, tag="out_of_tokens", tag_field="code"):
    """A limit that it falls under lets `rate` tasks a second start; the next one may at `until`."""

    queue: str | None
    tenant: str | None
    rate: float
    burst: int
    until: Micros


class PutOff(Struct, frozen=True, tag="put_off", tag_field="code"):
    """So many wait in its queue, or of its tenant, that work of its class is put off (R1.7).

    `waiting` of `most`, or more where that is `capped`; what comes later is let in again below
    `most`.
    """

    what: Literal["queue", "tenant"]
    name: str
    waiting: int
    most: int
    capped: bool
    until: Micros | None = None


class NoWorker(Struct, frozen=True, tag="no_worker", tag_field="code"):
    """No live worker takes its queue and knows its kind; so many do one or the other."""

    queue: str
    kind: str
    workers: int
    taking_queue: int
    knowing_kind: int
    until: Micros | None = None


class Expired(Struct, frozen=True, tag="expired", tag_field="code"):
    """Its `expires_at` passed before it was started; it is cancelled, or is about to be."""

    expired_at: Micros | None
    until: Micros | None = None


class Cancelling(Struct, frozen=True, tag="cancelling", tag_field="code"):
    """It was asked to stop while it ran and came back; it is about to be cancelled."""

    requested_at: Micros
    until: Micros | None = None


class Running(Struct, frozen=True, tag="running", tag_field="code"):
    """A worker has it since `since`.

    Once the worker is not `alive`, the task runs again when its lease is over: `until`.
    """

    session: str | None
    worker: str | None
    host: str | None
    pid: int | None
    since: Micros | None
    attempt: int
    max_attempts: int | None
    cancel_requested_at: Micros | None
    alive: bool
    until: Micros | None = None


class Finished(Struct, frozen=True, tag="finished", tag_field="code"):
    """It is over; a dead letter may have been replayed or discarded since."""

    state: State
    finished_at: Micros | None
    reason: str | None
    attempt: int
    replayed_as: str | None = None
    discarded_at: Micros | None = None
    until: Micros | None = None


Reason = (
    Paused
    | NotDue
    | PutOff
    | NoWorker
    | AtGate
    | AtCap
    | OutOfTokens
    | InTurn
    | Expired
    | Cancelling
    | Running
    | Finished
)
"""One reason; `until` is when it ends, where that is known."""


class Explanation(Struct, frozen=True):
    """Why a task was where it was at `as_of`."""

    task: Task
    as_of: Micros
    reasons: tuple[Reason, ...]
