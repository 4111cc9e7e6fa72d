"""Whatever is asked of a store, in whatever order, it answers like a model of forty lines."""

import asyncio

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from rota.store.base import Store
from tests.conformance.limit_machine import LimitMachine
from tests.support.places import Place

EXAMPLES = {"sqlite": 60, "postgres": 25}


@pytest.mark.slow
def test_a_store_and_a_plain_model_agree_after_every_step(
    place: Place, store: Store, runner: asyncio.Runner
) -> None:
    """Invariants 1-5: states, counters, answers, limits; what was accepted is somewhere, once."""

    class Machine(LimitMachine):
        def __init__(self) -> None:
            super().__init__(place, store, runner.run)

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=EXAMPLES[place.dialect],
            stateful_step_count=30,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
