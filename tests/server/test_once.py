"""Requests that are carried out once: whose a key is, and what comes at the same time (R1.4)."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import structs

from rota.access import EVERYTHING, Scope
from rota.clock import Ids, ManualClock, new_rng
from rota.requests import Submission
from rota.server.once import alone, reserved
from rota.server.problems import Problem
from rota.server.route import Call
from tests.support.factories import NOW

BOARD, COLLEGE = Scope(tenant="board"), Scope(tenant="college")


class Kept:
    """A store that remembers requests, and lets others in while it is asked."""

    def __init__(self, *, other: str | None = None) -> None:
        self.other = other
        self.made: list[Submission] = []

    async def find_submission(self, *_: str) -> Submission | None:
        await asyncio.sleep(0)
        return None

    async def submit_once(self, _tasks: Any, new: Submission) -> list[Any] | Submission:
        if self.other is not None:  # another server was faster
            return structs.replace(new, id="theirs", fingerprint=self.other)
        self.made.append(new)
        return []


def call(scope: Scope = EVERYTHING, *, place: Any = None, backend: Any = None) -> Call:
    here = place or a_place()
    headers = {"idempotency-key": "k"}
    caller = SimpleNamespace(scope=scope)
    return cast(
        Call, SimpleNamespace(place=here, caller=caller, backend=backend or Kept(), headers=headers)
    )


def a_place() -> Any:
    return SimpleNamespace(
        intake=SimpleNamespace(under_way=set()), clock=ManualClock(NOW), ids=Ids(new_rng(1))
    )


def test_a_key_goes_through_alone_and_only_against_its_own_tenant_s() -> None:
    """S2: that another tenant uses the same word is of no effect, so nothing is learnt by it."""
    place = a_place()
    with alone(call(BOARD, place=place), "submit", "k"):
        with alone(call(COLLEGE, place=place), "submit", "k"):
            pass
        with alone(call(BOARD, place=place), "actions", "k"):
            pass
        with pytest.raises(Problem) as raised, alone(call(BOARD, place=place), "submit", "k"):
            pass
        assert raised.value.meaning.code == "request_in_progress"
    assert place.intake.under_way == set()


async def test_two_at_the_same_time_are_one() -> None:
    """R1.4: the second one is told to come back."""
    place, backend = a_place(), Kept()
    asked = [reserved(call(place=place, backend=backend), "run", "a") for _ in range(2)]
    first, second = await asyncio.gather(*asked, return_exceptions=True)

    assert [one.id for one in backend.made] == [first]
    assert isinstance(second, Problem)
    assert second.meaning.code == "request_in_progress"


async def test_a_key_that_another_server_took_meanwhile_for_something_else_is_refused() -> None:
    """R1.4: what is told then is not the outcome of this request."""
    with pytest.raises(Problem) as raised:
        await reserved(call(backend=Kept(other="of other content")), "run", "a")
    assert raised.value.meaning.code == "key_reused"
