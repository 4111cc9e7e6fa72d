"""A batch of submits: every item checked and named, stored together or in runs (R1.5)."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

from rota.errors import InvalidTask, Overloaded
from rota.model import Accepted, NewTask, State
from rota.problems import meaning, place
from rota.requests import BATCH_KEPT, Submission
from rota.server import submissions
from rota.server.problems import Problem, of_decoding
from rota.server.route import Call
from rota.tracing import PARENT

RUN = 500
"""So many tasks are committed at a time where items may be refused one by one."""
TELL_MOST = 100
"""So many faults are told of a batch of which nothing was stored."""
GIVE_WAY_EVERY = 100

_decode = msgspec.json.Decoder(submissions.Submission).decode


class Fault(Struct, frozen=True):
    """What is wrong with an item."""

    code: str
    pointer: str
    detail: str

    def at(self, index: int) -> dict[str, Any]:
        """Return it as an error of the whole body."""
        return {
            "in": "body",
            "pointer": f"/{index}{self.pointer}",
            "code": self.code,
            "detail": self.detail,
        }


class Item(Struct, frozen=True):
    """What became of an item; `error` if it was refused."""

    id: str | None
    created: bool
    matched_by: str | None
    state: str | None
    error: Fault | None = None


class Batch:
    """The items of one request, in order: tasks that are to be stored, or what is wrong."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._backend = call.backend
        self.entries: list[NewTask | Fault] = []
        self.answers: dict[str, Accepted] = {}

    async def read(self, items: AsyncIterator[bytes]) -> None:
        """Take in every item; a `Problem` ends it: then nothing of the batch may happen."""
        place_ = self._call.place
        checker = place_.intake.checker(self._call.caller, self._call.headers.get(PARENT))
        now = place_.clock.now()
        given: list[submissions.Submission | Fault] = []
        async for item in items:
            given.append(_decoded(item))
            if len(given) % GIVE_WAY_EVERY == 0:
                await asyncio.sleep(0)
        kinds = {one.kind for one in given if isinstance(one, submissions.Submission)}
        await place_.intake.kinds.look(kinds)
        ids = place_.ids.many(now, len(given))
        for number, (one, task_id) in enumerate(zip(given, ids, strict=True)):
            self.entries.append(
                one if isinstance(one, Fault) else _checked(checker, one, task_id, now)
            )
            if number % GIVE_WAY_EVERY == 0:
                await asyncio.sleep(0)

    @property
    def tasks(self) -> list[NewTask]:
        """What is to be stored."""
        return [entry for entry in self.entries if not isinstance(entry, Fault)]

    @property
    def faults(self) -> list[dict[str, Any]]:
        """What is wrong, of the first items for which something is."""
        wrong = (
            entry.at(index) for index, entry in enumerate(self.entries) if isinstance(entry, Fault)
        )
        return list(islice(wrong, TELL_MOST))

    async def store(self, submission: Submission) -> Submission | None:
        """Store everything in one transaction; return the earlier request that did so, if any."""
        tasks = self.tasks
        done = await self._backend.submit_once(tasks, submission)
        if isinstance(done, Submission):
            return done
        self._answered(tasks, done)
        return None

    async def store_in_runs(self, submission: Submission) -> None:
        """Store what is right in runs; what a run is refused for its items are told."""
        tasks = self.tasks
        refused: dict[str, Fault] = {}
        for start in range(0, len(tasks) or 1, RUN):
            run = tasks[start : start + RUN]
            try:
                done = await self._backend.submit_once(run, submission)
            except Overloaded as error:
                fault = Fault(meaning(error).code, "", str(error))
                refused |= {task.id: fault for task in run}
                continue
            assert isinstance(done, list)
            self._answered(run, done)
        if refused:
            self.entries = [
                entry if isinstance(entry, Fault) else refused.get(entry.id, entry)
                for entry in self.entries
            ]

    def _answered(self, tasks: Sequence[NewTask], answers: Sequence[Accepted]) -> None:
        self.answers |= {task.id: found for task, found in zip(tasks, answers, strict=True)}

    async def items(self) -> list[Item]:
        """Return what became of each item."""
        found = [answer.id for answer in self.answers.values() if not answer.created]
        states = await self._backend.states(found) if found else {}
        now = self._call.place.clock.now()
        return [self._item(entry, states, now) for entry in self.entries]

    def _item(self, entry: NewTask | Fault, states: dict[str, State], now: int) -> Item:
        if isinstance(entry, Fault):
            return Item(None, False, None, None, entry)
        answer = self.answers[entry.id]
        if answer.created:
            return Item(answer.id, True, None, first_state(entry, now))
        state = states.get(answer.id)
        return Item(answer.id, False, "key", None if state is None else state.value)


def first_state(task: NewTask, now: int) -> str:
    """Return the state in which a task is stored; what has a gate comes to it by staging."""
    later = task.run_at > now or task.concurrency_key is not None
    return (State.SCHEDULED if later else State.READY).value


def batch_of(submission_id: str, scope: str, now: int, **more: Any) -> Submission:
    """Return what is kept of a batch."""
    return Submission(
        id=submission_id,
        scope=scope,
        operation="batch",
        created_at=now,
        keep_until=now + BATCH_KEPT,
        **more,
    )


def _decoded(item: bytes) -> submissions.Submission | Fault:
    try:
        return _decode(item)
    except msgspec.ValidationError as error:
        wrong = of_decoding(error).errors[0]
        return Fault("validation_failed", wrong["pointer"], wrong["detail"])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Fault("unreadable", "", f"is not JSON: {error}")
    except RecursionError:
        return Fault("unreadable", "", "is nested too deeply")


def _checked(
    checker: submissions.Checker, given: submissions.Submission, task_id: str, now: int
) -> NewTask | Fault:
    try:
        return checker.task(given, task_id, now)
    except Problem:
        raise
    except InvalidTask as error:
        wrong = place(error)
        return Fault(meaning(error).code, wrong["pointer"], wrong["detail"])
