"""One call of a kind that has been checked and not been stored yet."""

from msgspec import Struct

from rota.clock import Micros
from rota.model import NewTask, rank_of
from rota.options import DEFAULTS, Options
from rota.registry import Kind


class Call(Struct, frozen=True, gc=False):
    """A kind with its payload and options: what `bind` returns and `submit_many` takes."""

    kind: Kind
    payload: str
    options: Options = DEFAULTS

    def task(self, task_id: str, now: Micros) -> NewTask:
        """Return the task that this call makes at `now`."""
        kind, options = self.kind, self.options
        priority = kind.priority if options.priority is None else options.priority
        run_at = now + options.delay if options.run_at is None else options.run_at
        if options is DEFAULTS:
            return NewTask(
                task_id, kind.name, self.payload, kind.queue, "", priority, run_at,
                rank_of(run_at, priority), now, kind.timeout,
                concurrency_key=kind.concurrency_key, max_concurrency=kind.max_concurrency,
            )  # fmt: skip
        key, most = options.concurrency_key, options.max_concurrency
        if key is None:
            key, most = kind.concurrency_key, kind.max_concurrency
        return NewTask(
            id=task_id,
            kind=kind.name,
            payload=self.payload,
            queue=options.queue or kind.queue,
            tenant=options.tenant,
            priority=priority,
            run_at=run_at,
            rank=rank_of(run_at, priority),
            created_at=now,
            timeout=kind.timeout if options.timeout is None else options.timeout,
            retry=options.retry,
            expires_at=_expiry(options, now),
            key=options.key,
            key_until=None if options.key is None else now + options.key_window,
            tags=options.tags,
            headers=options.headers,
            concurrency_key=key,
            max_concurrency=None if key is None else most or 1,
        )


def _expiry(options: Options, now: Micros) -> Micros | None:
    return options.expires_at if options.expires_in is None else now + options.expires_in
