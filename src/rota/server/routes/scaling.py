"""Signals for autoscalers: flat numbers by queue, for KEDA and the Kubernetes HPA (R9.6)."""

from rota import figure_views
from rota.access import Role
from rota.server.route import Answer, Call, Route, roles
from rota.server.routes.stats import whole
from rota.server.shapes.statistics import Scaling
from rota.times import show_instant


async def show_scaling(call: Call) -> Answer:
    whole(call)
    found = await call.place.gauges.scaling()
    measured = call.place.gauges.measured
    assert measured is not None
    within = call.caller.scope.queues
    queues = {
        one.queue: figure_views.scale(one) for one in found if within is None or one.queue in within
    }
    return Answer({"as_of": show_instant(measured.now), "queues": queues})


ROUTES = (
    Route(
        method="GET", path="/v1/scaling", name="scaling_get",
        summary="Show how much capacity each queue has and wants.", run=show_scaling,
        roles=roles(Role.READ), tag="statistics", answers=Scaling,
    ),
)  # fmt: skip
