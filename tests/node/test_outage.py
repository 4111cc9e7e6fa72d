"""How long a process waits for a store, or a server, that is away (R3.7)."""

import pytest

from rota.clock import new_rng
from rota.http.failures import ServerAway
from rota.outage import LONGEST, LONGEST_ASKED, pause, pause_after


def away(retry_after: float = 0.0) -> ServerAway:
    """What is raised, with the wait that a server asks for."""
    error = ServerAway("away")
    error.retry_after = retry_after
    return error


@pytest.mark.parametrize("asked", [0.0, 1.0, 30.0])
def test_a_hundred_workers_come_back_spread_over_time(asked: float) -> None:
    """http-and-cli.md §5: a server that restarts told all of them the same."""
    waits = sorted(pause_after(away(asked), 6, new_rng(n)) for n in range(100))

    assert waits[0] >= max(asked, LONGEST / 2)
    assert waits[-1] <= max(asked * 1.5, LONGEST)
    spread = waits[-1] - waits[0]
    assert spread > waits[0] / 4
    in_a_tenth = max(sum(low <= w < low + spread / 10 for w in waits) for low in waits)
    assert in_a_tenth < 30


def test_a_server_is_not_asked_sooner_than_it_said_nor_much_later_than_is_good() -> None:
    """http-and-cli.md §5: `Retry-After`, within reason."""
    assert pause_after(away(), 0, new_rng(1)) == pause(0, new_rng(1)) <= 0.1
    assert pause_after(away(2.0), 0, new_rng(1)) >= 2.0
    assert pause_after(away(86_400.0), 0, new_rng(1)) <= LONGEST_ASKED * 1.5
