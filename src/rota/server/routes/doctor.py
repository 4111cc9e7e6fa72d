"""What is not as it should be, and what to do about it."""

from rota.access import Role
from rota.diagnosis_views import view
from rota.server.problems import Problem
from rota.server.route import Answer, Call, Route, roles
from rota.server.shapes.doctor import Diagnosis


async def diagnose(call: Call) -> Answer:
    if call.caller.scope.bound:
        raise Problem("forbidden", "it tells of every tenant and queue; take a key of no tenant")
    return Answer(view(await call.place.engine.diagnose()))


ROUTES = (
    Route(
        method="GET", path="/v1/doctor", name="doctor_get",
        summary="Say what is not as it should be, and what to do about it.", run=diagnose,
        roles=roles(Role.ADMIN), tag="server", answers=Diagnosis,
    ),
)  # fmt: skip
