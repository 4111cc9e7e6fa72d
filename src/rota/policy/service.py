"""Which part of the service each tenant gets, and which one it is due (R7.3)."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from rota.config import SECOND
from rota.service import REST, Got, Part, Service


def due(weights: Mapping[str, int]) -> dict[str, float]:
    """Return the part of all that each of these tenants is due while all of them want something.

    >>> due({"board": 3, "college": 1, "": 1})
    {'board': 0.6, 'college': 0.2, '': 0.2}
    """
    total = sum(weights.values())
    return {tenant: weight / total for tenant, weight in weights.items()} if total else {}


class Stand(Struct, frozen=True):
    """The part of all that a tenant got lately, and the one it is due; None if it wants nothing."""

    got: float
    due: float | None


def standing(
    weights: Mapping[str, int], wanting: Collection[str], served: Mapping[str, int]
) -> dict[str, Stand]:
    """Return how each tenant stands: of those with a weight of their own, and those served lately.

    `wanting` are those that wait or got something, and may go on; whoever has no weight has 1.

    >>> standing({"board": 3}, {"board", "college"}, {"board": 30, "college": 20})["board"]
    Stand(got=0.6, due=0.75)
    """
    total = sum(served.values())
    dues = due({name: weights.get(name, 1) for name in wanting})
    return {
        name: Stand(served.get(name, 0) / total if total else 0.0, dues.get(name))
        for name in {*weights, *served}
    }


def steps(
    rows: Sequence[Got], told: Iterable[str], dues: Mapping[str, float], *, alone: bool = False
) -> list[Service]:
    """Return what was read as steps, the oldest first, each with the parts of those told apart.

    With `alone` nothing is told of others: no sum, and no share.
    """
    names = list(told)
    by_step: dict[int, dict[str, Got]] = {}
    for row in rows:
        by_step.setdefault(row.at, {})[row.tenant] = row
    return [
        _step(at, by_step[at], [name for name in names if name in by_step[at]], dues, alone=alone)
        for at in sorted(by_step)
        if not alone or any(name in by_step[at] for name in names)
    ]


def _step(
    at: int,
    rows: Mapping[str, Got],
    names: Sequence[str],
    dues: Mapping[str, float],
    *,
    alone: bool,
) -> Service:
    if alone:
        parts = [Part(name, rows[name].completed, rows[name].ran / SECOND) for name in names]
        return Service(at, None, None, tuple(parts))
    completed = sum(row.completed for row in rows.values())
    ran = sum(row.ran for row in rows.values())
    shares = [
        Part(
            name,
            rows[name].completed,
            rows[name].ran / SECOND,
            rows[name].completed / completed if completed else None,
            rows[name].ran / ran if ran else None,
            dues.get(name),
        )
        for name in names
    ]
    return Service(at, completed, ran / SECOND, tuple(shares))


def known(totals: Sequence[Got]) -> list[str] | None:
    """Return the tenants that got anything; None if there were more than are told apart."""
    names = [one.tenant for one in totals]
    return None if REST in names else names
