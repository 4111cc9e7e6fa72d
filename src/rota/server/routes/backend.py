"""The verbs of the seam as they are, for Rota's own Python client (ADR 21); not documented.

They run on the scoped backend and under the same roles as the routes that do the same.
"""

from typing import Any

import msgspec

from rota.access import Role
from rota.facts import gathered
from rota.http.verbs import CHANGES, ROLES, verb
from rota.model import Task
from rota.policy.explain import Facts
from rota.server.decoding import decoded, whole
from rota.server.problems import Problem
from rota.server.route import Answer, Call, Route, json, roles
from rota.server.seam_checks import check_values, only_pauses
from rota.shares import KindSettings, QueueSettings, Settings, TenantSettings

BODY_BYTES = 64 * 1024 * 1024
"""Two thousand payloads, or four megabytes of them, in JSON within JSON."""

ANYBODY = roles(*Role)


async def run(call: Call) -> Answer:
    name = call.path.get("verb") or call.route.path.rpartition("/")[2]
    body = await whole(call)
    if name == "clock":
        return Answer({"value": call.place.clock.now()})
    if name == "facts":
        return await _facts(call, body)
    try:
        known = verb(name)
    except KeyError:
        raise Problem("not_found", f"there is no verb {name:.64}; is the client newer?") from None
    if name in CHANGES and call.route.audit is None:
        # Written in another way (%5F) it comes by the route that leaves nothing on record.
        raise Problem("not_found", f"there is no verb {name:.64} here; write it plainly")
    _check_roles(call, known.roles)
    values, named = decoded(known.asked, body)
    check_values(name, values, named, call.place.clock.now())
    if name == "put_settings":
        await _check_settings(call, values[0])
    call.audit["target"] = _target(values)
    answer = await getattr(call.backend, name)(*values, **named)
    return Answer(body=known.answer(answer))


def _check_roles(call: Call, any_of: frozenset[Role]) -> None:
    if not call.caller.may(any_of):
        needed = " or ".join(sorted(any_of))
        raise Problem("forbidden", f"this takes a key with the role {needed}")


async def _check_settings(call: Call, new: QueueSettings | TenantSettings | KindSettings) -> None:
    """Let an operator pause and resume, and an administrator do the rest."""
    if call.caller.may(roles(Role.ADMIN)):
        return
    settings = await call.backend.settings()
    old: Any
    if isinstance(new, QueueSettings):
        old = settings.queue(new.name)
    elif isinstance(new, TenantSettings):
        old = settings.tenant(new.name)
    else:
        old = settings.kinds.get(new.name) or KindSettings(name=new.name)
    if not only_pauses(old, new):
        raise Problem("forbidden", "this takes a key with the role admin; pausing does not")


def _target(values: list[Any]) -> str | None:
    """Return what a change is of, as far as one word says it."""
    first = values[0] if values else None
    if isinstance(first, str):
        return first[:128]
    if isinstance(first, list | tuple):
        return None if len(first) != 1 else str(getattr(first[0], "id", first[0]))[:128]
    return str(getattr(first, "name", getattr(first, "id", "")))[:128] or None


class _Which(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str


async def _facts(call: Call, body: bytes) -> Answer:
    """Gather the facts about a task that is within reach, and what binds it of what is not."""
    _check_roles(call, roles(Role.READ))
    which: _Which = decoded(msgspec.json.Decoder(_Which).decode, body)
    (task,) = await call.backend.get([which.id])
    if task is None:
        return Answer({"value": None})
    facts = await gathered(call.place.engine, call.place.app.registry, task)
    if call.caller.scope.bound:
        facts = within_reach(facts)
    return Answer(body=json({"value": facts}))


def within_reach(facts: Facts) -> Facts:
    """Leave out what has to do with others: names of tenants, machines and their workers."""
    task: Task = facts.task
    settings = facts.settings
    own = Settings(
        settings.version,
        {task.queue: settings.queue(task.queue)},
        {task.tenant: settings.tenant(task.tenant)},
        {name: kind for name, kind in settings.kinds.items() if name == task.kind},
        tuple(one for one in settings.limits if one.binds(task.queue, task.tenant)),
    )
    sessions = tuple(
        msgspec.structs.replace(
            one,
            name="",
            host="",
            pid=0,
            process="",
            owner="",
            kinds=tuple(kind for kind in one.kinds if kind == task.kind),
            version="",
        )
        for one in facts.sessions
    )
    return msgspec.structs.replace(facts, settings=own, sessions=sessions)


def _routes() -> tuple[Route, ...]:
    """Return a route for each verb that changes something, for the record, and one for all."""
    names = sorted(CHANGES & set(ROLES))
    changing = tuple(_route(name, f"seam_{name}", ROLES[name], f"seam.{name}") for name in names)
    return (*changing, _route("{verb}", "seam_call", ANYBODY, None))


def _route(path: str, name: str, any_of: frozenset[Role], audit: str | None) -> Route:
    return Route(
        method="POST",
        path=f"/v1/backend/{path}",
        name=name,
        summary="Call a verb of the seam.",
        run=run,
        roles=any_of,
        tag="seam",
        raw=True,
        most=BODY_BYTES,
        answers=dict[str, Any],
        audit=audit,
        summed=audit == "seam.submit",
        document=False,
    )


ROUTES = _routes()
