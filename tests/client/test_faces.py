"""One verb, two faces: what they are called, what they say, and how a wait is broken off."""

import asyncio
import inspect
import threading
from typing import Any

import pytest

from rota.dead_letters import DeadLetters
from rota.kind_pauses import Kinds
from rota.limits import Limits
from rota.queues import Queues
from rota.schedules import Schedules
from rota.sync import Portal, new_event_loop
from rota.tasks import Tasks
from rota.tenants import Tenants


@pytest.mark.parametrize("owner", [Tasks, DeadLetters, Schedules, Queues, Tenants, Kinds, Limits])
def test_every_verb_has_both_faces_with_its_own_name_and_words(owner: type) -> None:
    """Design §3: one implementation, two faces."""
    faces = {name: face for name, face in vars(owner).items() if not name.startswith("_")}
    blocking = {name for name in faces if f"a{name}" in faces}

    assert faces.keys() == blocking | {f"a{name}" for name in blocking}
    for name, face in faces.items():
        assert face.__name__ == name
        assert (face.__doc__ or "").strip()
        assert "self" in inspect.signature(face).parameters


def test_a_wait_that_is_interrupted_goes_on_in_nobody_s_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C during a blocking call ends the call on the private loop as well."""
    portal = Portal()
    start = portal.start
    began, cancelled = threading.Event(), threading.Event()

    async def work() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    def result() -> None:
        assert began.wait(60)
        raise KeyboardInterrupt

    def interrupted(work: Any) -> Any:
        future = start(work)
        monkeypatch.setattr(future, "result", result)
        return future

    monkeypatch.setattr(portal, "start", interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            portal.run(work)
        assert cancelled.wait(60)
    finally:
        portal.stop()


@pytest.mark.parametrize("begun", [False, True])
def test_a_start_that_is_interrupted_holds_nobody_up(
    monkeypatch: pytest.MonkeyPatch, begun: bool
) -> None:
    """Ctrl-C while the private loop's thread starts: what is let go of later does not wait."""
    portal = Portal()
    start = threading.Thread.start
    loops = [new_event_loop(), new_event_loop()]

    def interrupted(thread: threading.Thread) -> None:
        if begun:
            start(thread)
        raise KeyboardInterrupt

    async def work() -> str:
        return "done"

    monkeypatch.setattr("rota.sync.new_event_loop", iter(loops).__next__)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            portal.run(work)
    portal.stop()

    assert portal.run(work) == "done"
    portal.stop()
    if not begun:
        loops[0].close()
