"""What statistics know of queues, for the list of queues: null where nothing is known."""

from collections.abc import Collection, Mapping
from typing import Any

from rota.figures import Scale
from rota.server.route import Call

NOTHING: dict[str, Any] = {
    "depth": None,
    "oldest_ready_s": None,
    "in_per_s": None,
    "out_per_s": None,
    "error_ratio": None,
}


class QueueFigures:
    """The figures of the queues that statistics know of."""

    def __init__(self, known: Mapping[str, Scale]) -> None:
        self._known = known

    @property
    def names(self) -> Collection[str]:
        """The queues that have or had work lately."""
        return self._known.keys()

    def of(self, name: str) -> dict[str, Any]:
        """Return the figures of a queue."""
        scale = self._known.get(name)
        if scale is None:
            return NOTHING
        return {
            "depth": {"ready": scale.ready, "running": scale.running},
            "oldest_ready_s": round(scale.oldest_ready, 3),
            "in_per_s": round(scale.arriving, 3),
            "out_per_s": round(scale.leaving, 3),
            "error_ratio": None if scale.errors is None else round(scale.errors, 4),
        }


async def figures_of(call: Call) -> QueueFigures:
    """Return the figures of all queues; of none for keys of a part, as they are of everybody."""
    if call.caller.scope.bound:
        return QueueFigures({})
    return QueueFigures({scale.queue: scale for scale in await call.place.gauges.scaling()})
