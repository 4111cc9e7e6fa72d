"""Probes and metrics: outside /v1, for whatever watches processes (R9.3)."""

from rota.access import Role
from rota.node.health import ALIVE
from rota.server.metrics import MEDIA
from rota.server.route import Answer, Call, Route, roles
from rota.server.routes.stats import whole
from rota.server.shapes.statistics import Alive, Ready

TAG = "health"


async def show_alive(_call: Call) -> Answer:
    return Answer(ALIVE)


async def show_ready(call: Call) -> Answer:
    ready, checks = call.place.health.ready()
    return Answer(checks, status=200 if ready else 503)


async def show_metrics(call: Call) -> Answer:
    whole(call)
    return Answer(body=await call.place.metrics.text(), media=MEDIA)


ROUTES = (
    Route(
        method="GET", path="/healthz", name="health_get",
        summary="Say that the process is alive.", run=show_alive,
        roles=None, tag=TAG, answers=Alive,
    ),
    Route(
        method="GET", path="/readyz", name="readiness_get",
        summary="Say whether calls may be sent here.", run=show_ready,
        roles=None, tag=TAG, answers=Ready, codes=((503, "not_ready"),),
    ),
    Route(
        method="GET", path="/metrics", name="metrics_get",
        summary="Show metrics in the format of Prometheus.", run=show_metrics,
        roles=roles(Role.READ), tag=TAG, answers=str, gives=MEDIA,
    ),
)  # fmt: skip
