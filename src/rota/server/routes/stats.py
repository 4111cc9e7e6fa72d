"""Statistics by the minute, the seven figures, and counts by state over HTTP (R9.1, R9.4)."""

from typing import Annotated

from msgspec import Meta

from rota import figure_views
from rota.access import Role
from rota.figures import ROWS
from rota.insights import COUNT_CAP
from rota.model import State, TaskFilter
from rota.server.problems import Problem
from rota.server.route import Answer, Call, In, Route, roles
from rota.server.shapes import statistics as shapes
from rota.service import TOLD, TOLD_MOST
from rota.statistics import chosen, service_chosen
from rota.times import show_instant
from rota.views import seconds

TAG = "statistics"
TENANTS_MOST = 200


class StatsQuery(In, frozen=True):
    """What to read: `since` is an instant or how long ago; `by` is queue, kind or queue,kind."""

    since: str = "1h"
    until: str | None = None
    step: str = "1m"
    queue: str | None = None
    kind: str | None = None
    by: str | None = None
    buckets: bool = False


class SharesQuery(In, frozen=True):
    """What to read: of the `most` tenants that got most, or of `tenant`; empty has no name."""

    since: str = "1h"
    until: str | None = None
    step: str = "1m"
    tenant: str | None = None
    most: Annotated[int, Meta(ge=1, le=TOLD_MOST)] = TOLD


class StatesQuery(In, frozen=True):
    """Which tasks to count."""

    queue: str | None = None
    kind: str | None = None
    tenant: str | None = None


async def show_stats(call: Call) -> Answer:
    whole(call, call.query.queue)
    query, now = call.query, call.place.clock.now()
    where = chosen(
        now,
        query.since,
        query.until,
        step=_length(query.step),
        queue=query.queue,
        kind=query.kind,
        by=query.by.split(",") if query.by else (),
    )
    found = await call.place.engine.statistics(where)
    return Answer(
        {
            "as_of": show_instant(now),
            "since": show_instant(where.since - where.since % where.step),
            "until": show_instant(where.until - where.until % where.step),
            "step_s": seconds(where.step),
            "bounds": figure_views.bounds(),
            "items": [figure_views.statistic(one, buckets=query.buckets) for one in found[:ROWS]],
            "truncated": len(found) >= ROWS,
        }
    )


async def show_shares(call: Call) -> Answer:
    query, now = call.query, call.place.clock.now()
    where = service_chosen(
        now,
        query.since,
        query.until,
        step=_length(query.step),
        tenant=query.tenant,
        most=query.most,
    )
    found = await call.backend.service(where)
    return Answer(
        {
            "as_of": show_instant(now),
            "since": show_instant(where.since - where.since % where.step),
            "until": show_instant(where.until - where.until % where.step),
            "step_s": seconds(where.step),
            "items": [figure_views.service(one) for one in found],
        }
    )


async def show_figures(call: Call) -> Answer:
    whole(call)
    found = await call.place.gauges.figures()
    return Answer(figure_views.figures(found, call.caller.scope.queues))


async def show_states(call: Call) -> Answer:
    now = call.place.clock.now()
    where = TaskFilter(queue=call.query.queue, kind=call.query.kind, tenant=call.query.tenant)
    counts = await call.faces.insights.count(where, COUNT_CAP)
    return Answer(
        {
            "as_of": show_instant(now),
            "cap": COUNT_CAP,
            "states": {state.value: counts.get(state, 0) for state in State},
            "capped": [state.value for state in State if counts.get(state, 0) >= COUNT_CAP],
        }
    )


async def show_served(call: Call) -> Answer:
    whole(call)
    if call.caller.scope.queues is not None:
        raise Problem("forbidden", "shares are of all queues together; use a key for all queues")
    found = await call.backend.served()
    total = sum(found.tenants.values())
    most = sorted(found.tenants.items(), key=lambda one: (-one[1], one[0]))[:TENANTS_MOST]
    return Answer(
        {
            "as_of": show_instant(found.now),
            "since": show_instant(found.since),
            "completed": total,
            "items": [
                {"tenant": tenant, "completed": count, "share": round(count / total, 4)}
                for tenant, count in most
            ],
        }
    )


def whole(call: Call, queue: str | None = None) -> None:
    """Refuse a caller whose part nobody counts apart: one tenant's, or of all queues some."""
    scope = call.caller.scope
    if scope.tenant is not None:
        raise Problem("forbidden", "statistics are not kept by tenant; use a key for all tenants")
    if call.route.name == "stats_get" and scope.queues is not None and queue not in scope.queues:
        raise Problem("forbidden", f"give ?queue=, one of {', '.join(scope.queues)}")


def _length(step: str) -> float | str:
    """Return a step as it is typed; a bare number is seconds."""
    try:
        return float(step)
    except ValueError:
        return step


ROUTES = (
    Route(
        method="GET", path="/v1/stats", name="stats_get",
        summary="Show what happened, step by step.", run=show_stats,
        roles=roles(Role.READ), tag=TAG, query=StatsQuery, answers=shapes.Stats,
    ),
    Route(
        method="GET", path="/v1/stats/figures", name="figures_get",
        summary="Show the seven figures, with their thresholds.", run=show_figures,
        roles=roles(Role.READ), tag=TAG, answers=shapes.Figures,
    ),
    Route(
        method="GET", path="/v1/stats/tenants", name="tenants_served",
        summary="Show who got how much of what was done lately.", run=show_served,
        roles=roles(Role.READ), tag=TAG, answers=shapes.TenantsServed,
    ),
    Route(
        method="GET", path="/v1/stats/shares", name="shares_get",
        summary="Show who got how much, step by step, against what they are due.",
        run=show_shares, roles=roles(Role.READ), tag=TAG, query=SharesQuery,
        answers=shapes.Shares, codes=((403, "tenant_mismatch"),),
    ),
    Route(
        method="GET", path="/v1/stats/states", name="states_get",
        summary="Count tasks by state.", run=show_states,
        roles=roles(Role.READ), tag=TAG, query=StatesQuery, answers=shapes.States,
    ),
)  # fmt: skip
