"""The app of the dashboard's tests: a school that sends results and writes reports.

Its store comes from `--url`. What the tests look at has to hold still, so "letters" is a queue that
they pause, and `watch` runs for as long as it is left to.
"""

import asyncio
from typing import Any

from rota import Backoff, Context, Rota

app = Rota("sqlite:///school.db")

FAILS = 17
"""Every so manieth student's line is out of order."""


@app.task(queue="sms", timeout=30, retry=Backoff(max_attempts=2, base=0.05))
async def send_result(ctx: Context, student_id: int, phone: str = "") -> str:
    if student_id % FAILS == 0:
        raise ConnectionError(f"no answer from the line of student {student_id}")
    return f"sent to {phone or student_id}"


@app.task(queue="letters")
async def store_papers(ctx: Context, papers: dict[str, Any]) -> None: ...


@app.task(queue="letters")
async def send_letter(ctx: Context, student_id: int, text: str = "") -> None: ...


@app.task(queue="reports")
async def watch(ctx: Context, steps: int = 50) -> None:
    for step in range(steps):
        ctx.progress(step, steps)
        await asyncio.sleep(0.02 if step < steps // 2 else 3600)


@app.task(queue="reports", retry=Backoff(max_attempts=1))
async def refuse(ctx: Context, message: str) -> None:
    raise ValueError(message)


@app.schedule("0 9 * * MON-FRI", tz="Europe/Berlin")
@app.task(queue="reports")
async def morning_report(ctx: Context) -> str:
    return "done"
