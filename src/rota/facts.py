"""Gathers what is known of a task, so that it can be said why it is where it is (R7.8)."""

from collections.abc import Sequence

from msgspec import structs

from rota.backend import Backend
from rota.model import Session, State, Task
from rota.policy.explain import Facts, may_be_put_off, waits_at_gate
from rota.policy.retry import Backoff
from rota.registry import Registry
from rota.shares import Depth, LimitUse, Settings

AHEAD_CAP = 10_000
"""Further than this nobody counts how many stand before a task."""

WAITING = (State.SCHEDULED, State.READY)


async def gathered(backend: Backend, registry: Registry, task: Task) -> Facts:
    """Return the facts about a task; what they have to say is up to `policy.explain`.

    A server gathers them by itself: one question, and it sees what binds a task from afar.
    """
    elsewhere = getattr(backend, "facts", None)
    if elsewhere is not None:
        facts: Facts = await elsewhere(task.id)
        return structs.replace(
            facts, max_attempts=facts.max_attempts or _max_attempts(registry, task)
        )
    waiting = task.state in WAITING
    settings = await backend.settings() if waiting else Settings()
    ahead = await backend.ahead(task.id, AHEAD_CAP) if task.state is State.READY else 0
    sessions = await _sessions(backend, task)
    now = backend.clock.now()
    due = waiting and task.run_at <= now
    gate = None
    if task.concurrency_key is not None and waits_at_gate(task, now):
        gate = await backend.gate_use(task.concurrency_key, AHEAD_CAP)
    queue_depth, tenant_depth, cap = await _depths(backend, task, settings, now)
    return Facts(
        now=now,
        task=task,
        sessions=tuple(sessions),
        settings=settings,
        limits=tuple(await _limits(backend, task, settings)) if due else (),
        queue_depth=queue_depth,
        tenant_depth=tenant_depth,
        depth_cap=cap,
        ahead=ahead,
        ahead_cap=AHEAD_CAP,
        gate=gate,
        max_attempts=_max_attempts(registry, task),
    )


async def _sessions(backend: Backend, task: Task) -> Sequence[Session]:
    if task.state in WAITING:
        return await backend.sessions()
    # A worker that held the task may be gone; its session says since when.
    return await backend.sessions(live=False) if task.state is State.RUNNING else ()


async def _limits(backend: Backend, task: Task, settings: Settings) -> Sequence[LimitUse]:
    binding = [limit.id for limit in settings.limits if limit.binds(task.queue, task.tenant)]
    return await backend.limit_use(binding) if binding else ()


async def _depths(
    backend: Backend, task: Task, settings: Settings, now: int
) -> tuple[Depth | None, Depth | None, int]:
    bounds = (settings.queue(task.queue).max_depth, settings.tenant(task.tenant).max_depth)
    most = max(filter(None, bounds), default=0)
    if not most or not may_be_put_off(task, settings, now):
        return None, None, 0
    queue, tenant = bounds
    queues, tenants = await backend.depths(
        [task.queue] if queue else (), [task.tenant] if tenant else (), 2 * most
    )
    return next(iter(queues), None), next(iter(tenants), None), 2 * most


def _max_attempts(registry: Registry, task: Task) -> int | None:
    if task.retry is not None:
        most = task.retry.get("max_attempts", Backoff().max_attempts)
        return most if isinstance(most, int) else None
    kind = registry.get(task.kind)
    return kind.retry.max_attempts if kind else None
