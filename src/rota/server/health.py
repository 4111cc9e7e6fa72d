"""`/healthz` and `/readyz` of a server, from memory (R9.3)."""

from typing import TYPE_CHECKING, Any

from rota.node.health import keep_looking, readiness

if TYPE_CHECKING:
    from rota.server.place import Place


class Health:
    """Whether calls may be sent here; what it knows is kept up in the background.

    A server that does duties is not well if none are done anywhere; one without is not to blame.
    """

    def __init__(self, place: "Place") -> None:
        self._place = place
        self.does_duties = True
        place.background.append(self._look)

    async def _look(self) -> None:
        await keep_looking(self._place.engine)

    def ready(self) -> tuple[bool, dict[str, Any]]:
        """Return whether calls may be sent here, and what was checked."""
        return readiness(
            self._place.engine.vitals,
            draining=self._place.draining,
            needs_tick=self.does_duties,
        )
