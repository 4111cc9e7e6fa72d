"""What two tenants have in a store, and scopes that reach a part of it."""

from rota.access import Scope
from rota.engine import Engine
from rota.model import NewTask, State, TaskFilter, Transition
from tests.conformance.steps import open_worker
from tests.support.factories import NOW, Make

BOARD = Scope(tenant="board")
SMS = Scope(queues=("sms", "mail"))
BLIND = Scope(payloads=False)
ALL = TaskFilter()


async def two_tasks(engine: Engine) -> tuple[NewTask, NewTask]:
    """A task of the board's and one of the school's, each in a queue of its own."""
    make = Make()
    own = make.task(tenant="board", queue="sms", payload='{"who":"own"}', headers='{"x":"own"}')
    foreign = make.task(tenant="school", queue="push", payload='{"who":"canary"}')
    await engine.submit([own, foreign])
    return own, foreign


async def failed(engine: Engine) -> tuple[str, str]:
    """A dead letter of the board's and one of the school's."""
    own, foreign = await two_tasks(engine)
    session = await open_worker(engine.store, Make(3))
    claim = await engine.claim(session, ["sms", "push"], 10, ())
    assert len(claim.tasks) == 2
    error = '{"at":1,"attempt":1,"type":"Boom","message":"canary","traceback":"canary"}'
    await engine.store.finish(
        session,
        [
            Transition(
                task.id, task.fence, State.FAILED, error=error, group=f"g-{task.tenant}",
                error_type="Boom", error_shape="canary",
            )
            for task in claim.tasks
        ],
        NOW,
    )  # fmt: skip
    return own.id, foreign.id
