"""Actions that nodes carry on, as a program follows and stops them: `app.actions` (R5.3)."""

from collections.abc import Sequence

from rota.actions import Action
from rota.client import Client
from rota.clock import parse_id
from rota.errors import ActionNotFound
from rota.faces import awaited, blocking
from rota.insights import PAGE, check_after, check_limit
from rota.sync import Portal


class Actions:
    """Reads and stops the actions that were begun over HTTP: `app.actions`.

    Every verb has a blocking face and, with an `a` before its name, one to be awaited.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def _portal(self) -> Portal:
        return self._client.portal

    async def _list(self, *, after: str | None = None, limit: int = PAGE) -> Sequence[Action]:
        """Return actions, newest first; the next page begins `after` the last one's id."""
        check_limit(limit)
        before = check_after(after, "an action")
        backend = await self._client.opened()
        return await backend.actions(tenant=None, queues=None, before_id=before, limit=limit)

    async def _get(self, action_id: str) -> Action:
        """Return an action and how far it is; `ActionNotFound` if there is none."""
        backend = await self._client.opened()
        known = parse_id(action_id)
        found = await backend.action(known) if known else None
        if found is None:
            raise ActionNotFound(action_id)
        return found

    async def _stop(self, action_id: str) -> Action:
        """Stop an action after the run that is under way, and return it; what is done stays so."""
        action = await self._get(action_id)
        backend = await self._client.opened()
        await backend.stop_action(action.id)
        return await self._get(action.id)

    list, alist = blocking(_list), awaited(_list)
    get, aget = blocking(_get), awaited(_get)
    stop, astop = blocking(_stop), awaited(_stop)
