"""What the dashboard's tests find in the store: a school day with all that a page can show."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from rota import Rota
from rota.call import Call
from tests.system.harness import wait_until
from tests.web.dev import Dev
from tests.web.school import FAILS, app, refuse, send_letter, send_result, watch

LETTERS = 130
"""More than a page of them waits."""
STUDENTS = 40
BIG = 9007199254740993
"""The first whole number that a double cannot hold."""
MARKED = "<img src=x onerror=alert(1)> \u202elive\u202c \u0007"
"""Markup, marks that turn the direction of writing, and a bell."""
HOSTILE = f"{MARKED} {'w' * 10_000}"


class School(NamedTuple):
    """A running `rota dev`, its keys by role, and the tasks that tests open."""

    dev: Dev
    keys: dict[str, str]
    tasks: dict[str, str]

    def ask(self, method: str, path: str, body: Any = None, *, key: str = "admin") -> Any:
        """Send a request with the key of a role and return what a good answer says."""
        told = self.dev.ask(method, path, body, key=self.keys[key])
        assert told.status < 300, told
        return told.json

    def state(self, name: str) -> str:
        """Return the state of a task by the name that it has here."""
        return str(self.ask("GET", f"/v1/tasks/{self.tasks[name]}")["state"])


def seed(dev: Dev) -> School:
    """Fill the store of `dev` and wait until what runs has run."""
    with app.at(dev.store) as store:
        store.queues.pause("letters", reason="the printer is out of paper")
        school = School(dev, _keys(store), dict(_tasks(store)))
        store.submit_many(letter(student, tenant="board") for student in range(LETTERS))
        store.submit_many(
            send_result.using(tenant=tenant, tags=["results"]).bind(student, phone="+91")
            for tenant in ("board", "college", "")
            for student in range(1, STUDENTS + 1)
        )
    reached = {"failed": "failed", "refused": "failed", "done": "completed", "running": "running"}
    wait_until(
        lambda: all(school.state(name) == state for name, state in reached.items()),
        what="the school's tasks",
    )
    return school


def letter(student: int, text: str = "", **options: Any) -> Call:
    """Return a letter, which waits because its queue is paused."""
    return send_letter.using(**options).bind(student, text)


def _keys(store: Rota) -> dict[str, str]:
    roles = {name: [name] for name in ("read", "admin", "worker")} | {
        "operate": ["read", "operate"]
    }
    keys = {name: store.keys.create(f"{name}-key", held).text for name, held in roles.items()}
    bound = ["read", "operate", "submit"]
    return keys | {
        tenant: store.keys.create(f"{tenant}-key", bound, tenant=tenant).text
        for tenant in ("board", "college")
    }


def _tasks(store: Rota) -> Iterator[tuple[str, str]]:
    calls = {
        "letter": letter(1, tenant="board", key="hold-17"),
        "college": letter(2, tenant="college"),
        "later": send_result.using(delay="2h", tags=["results"]).bind(BIG),
        "hostile": letter(3, HOSTILE, tags=[MARKED], key=MARKED, headers={"said": MARKED}),
        "refused": refuse.bind(HOSTILE),
        "running": watch.bind(50),
        "failed": send_result.using(tenant="board").bind(10 * FAILS),
        "done": send_result.using(tenant="board").bind(1),
    }
    accepted = store.submit_each(calls.values())
    yield from ((name, answer.id) for name, answer in zip(calls, accepted, strict=True))
