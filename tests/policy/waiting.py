"""A task, a worker, and why the one waits for the other."""

from typing import Any

from rota.config import MINUTE
from rota.model import Session, State, Task
from rota.policy.explain import Facts, explain
from rota.policy.reasons import Explanation
from tests.support.factories import NOW, Make

WORKER = Make().session(queues=("sms",), kinds=("send",))


def task(state: State, **fields: Any) -> Task:
    """A task in this state."""
    usual: dict[str, Any] = {
        "kind": "send",
        "queue": "sms",
        "tenant": "board",
        "priority": 5,
        "payload": {},
    }
    times = {"created_at": NOW - MINUTE, "run_at": NOW - MINUTE}
    return Task(id=Make().id(), state=state, **usual | times | fields)


def why(found: Task, *sessions: Session, **fields: Any) -> Explanation:
    """Why it is there."""
    return explain(Facts(now=NOW, task=found, sessions=sessions, **fields))
