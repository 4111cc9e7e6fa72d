"""What a handler can know of its run and tell about it."""

import logging
from datetime import datetime

from rota.clock import instant
from rota.model import Claimed, Micros


class Context:
    """A handler's view of the run that it is in; ask for it with a parameter of this type.

    >>> async def send(ctx: Context, to: str) -> None:
    ...     ctx.log.info("sending to %s, attempt %s", to, ctx.attempt)
    """

    __slots__ = ("_claimed", "_deadline")

    def __init__(self, claimed: Claimed, deadline: Micros | None = None) -> None:
        self._claimed = claimed
        self._deadline = deadline

    @property
    def task_id(self) -> str:
        """The task's id, the same in every attempt."""
        return self._claimed.id

    @property
    def idempotency_key(self) -> str:
        """A key for whatever the handler writes to: the same in every attempt (R3.5)."""
        return self._claimed.id

    @property
    def kind(self) -> str:
        """The name under which the handler is registered."""
        return self._claimed.kind

    @property
    def queue(self) -> str:
        """The queue that the task came through."""
        return self._claimed.queue

    @property
    def tenant(self) -> str:
        """On whose behalf the task runs; "" when there is none."""
        return self._claimed.tenant

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1; snoozes, hand-backs and lost workers not counted."""
        return self._claimed.attempt

    @property
    def fence(self) -> int:
        """The token of this hand-out; it only grows, so receivers can refuse old ones (R3.3)."""
        return self._claimed.fence

    @property
    def run_at(self) -> datetime:
        """When the task was due."""
        return instant(self._claimed.run_at)

    @property
    def deadline(self) -> datetime | None:
        """When this run will be ended, or None if the task has no timeout (R4.3)."""
        return None if self._deadline is None else instant(self._deadline)

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger whose records carry the task's id, kind, tenant and attempt."""
        return logging.LoggerAdapter(
            logging.getLogger("rota.task"),
            {
                "task_id": self._claimed.id,
                "kind": self._claimed.kind,
                "tenant": self._claimed.tenant,
                "attempt": self._claimed.attempt,
            },
        )
