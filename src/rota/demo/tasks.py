"""The tasks of the demonstration, as a user of Rota would write them."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from rota.app import Rota
from rota.clock import new_rng
from rota.context import Context
from rota.demo.provider import Message, Provider
from rota.demo.results_file import SUBJECTS, Student
from rota.task import TaskKind

T = TypeVar("T")

CHUNK = 500
"""How many students one task sends to."""
PART = 100
"""How many messages go to the provider at once: a worker that is killed leaves a chunk in part."""
PART_SECONDS = 0.1
"""What the provider takes for that, made up, give or take a half: real ones are slow, and an
instant one would be done before a worker could be killed in the middle."""

RESULT, REMINDER, PASSWORD = "result", "reminder", "password"


class DemoApp(NamedTuple):
    """The app and its kinds."""

    app: Rota
    send_results: TaskKind[..., Any]
    remind: TaskKind[..., Any]
    send_otp: TaskKind[..., Any]


def demo_app(url: str, queue: str, provider: Callable[[], Provider]) -> DemoApp:
    """Return the app against a store; every run of the demo has a queue of its own."""
    app = Rota(url)
    rng = new_rng()

    async def send(ctx: Context, messages: Sequence[Message]) -> int:
        return await asyncio.to_thread(provider().send, ctx.task_id, messages)

    @app.task(queue=queue, timeout=60)
    async def send_results(ctx: Context, exam: str, students: list[Student]) -> int:
        """Send one chunk of results; return how many of them had been sent before."""
        absorbed = 0
        for part in parts(students, PART):
            await asyncio.sleep(PART_SECONDS * (0.5 + rng.random()))
            absorbed += await send(ctx, [result(exam, student) for student in part])
        return absorbed

    @app.task(queue=queue, timeout=60)
    async def remind(ctx: Context, exam: str, student_id: str, phone: str) -> int:
        """Remind one student of an exam."""
        text = f"{exam}: your exam begins at 10:00"
        key = f"{REMINDER}/{exam}/{student_id}"
        return await send(ctx, [Message(key, REMINDER, student_id, phone, text)])

    @app.task(queue=queue, priority=0, timeout=60)
    async def send_otp(ctx: Context, parent: str, phone: str, code: str) -> int:
        """Send a one-time password; a second one of the same task would be the same."""
        text = f"your code is {code}"
        return await send(ctx, [Message(ctx.idempotency_key, PASSWORD, parent, phone, text)])

    return DemoApp(app, send_results, remind, send_otp)


def result(exam: str, student: Student) -> Message:
    """Return a student's message; its key is the same in every attempt (R3.5)."""
    marks = ", ".join(f"{s} {m}" for s, m in zip(SUBJECTS, student.marks, strict=True))
    return Message(
        key=f"{RESULT}/{exam}/{student.id}",
        kind=RESULT,
        recipient=student.roll_number,
        phone=student.phone,
        text=f"{exam}, roll number {student.roll_number}: {marks}",
    )


def parts(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Cut items into lists of at most `size`."""
    source = iter(items)
    while part := list(islice(source, size)):
        yield part


def provider_file(directory: Path) -> Path:
    """Where the provider's database lies."""
    return directory / "provider.db"
