"""The values of service over time: how much each tenant got, step by step (R7.3, R9.1; ADR 29)."""

from typing import Final

from msgspec import Struct

from rota.config import HOUR, MINUTE
from rota.model import Micros

REST: Final = "_other"
"""Those that are not told apart, added up: no tenant can be called so."""
TOLD_MOST: Final = 200
"""So many tenants are told apart in an answer, and of what a process writes at a time."""
TOLD: Final = 5


class Got(Struct, frozen=True):
    """What a tenant got from `at` on, for a `span`: tasks that completed, and how long they ran."""

    at: Micros
    span: Micros
    tenant: str
    completed: int
    ran: Micros


class ServiceFilter(Struct, frozen=True, kw_only=True):
    """Which service to tell of: from `since` on, before `until`, in steps of whole minutes.

    Told apart are the `most` tenants that got most in all that time, or `tenant`. With `alone`
    nothing is told of others, neither as a sum nor as a share.
    """

    since: Micros
    until: Micros
    step: Micros = MINUTE
    tenant: str | None = None
    most: int = TOLD
    alone: bool = False

    @property
    def span(self) -> Micros:
        """The length of what is added up: minutes are kept for a day, hours for a week."""
        return HOUR if self.step % HOUR == 0 else MINUTE


class Part(Struct, frozen=True):
    """What a tenant got in one step, and which part of all that was.

    `ran` is in seconds. `share` is of the tasks, `time_share` of the time; `due` is its weight's
    part of the weights of all that got anything in the whole time. They are None where others must
    not be known, and `due` where there were more tenants than are told apart.
    """

    tenant: str
    completed: int
    ran: float
    share: float | None = None
    time_share: float | None = None
    due: float | None = None


class Service(Struct, frozen=True):
    """Who got what from `at` on; `completed` and `ran` are those of all tenants."""

    at: Micros
    completed: int | None
    ran: float | None
    parts: tuple[Part, ...]
