"""The engine's verbs for workers that come through a server."""

from collections.abc import Sequence

from rota.backend import Claim
from rota.clock import Clock, Ids, Rng
from rota.engine.claim import Claims
from rota.engine.measuring import Measuring
from rota.engine.news import Topic
from rota.engine.newsroom import Newsroom
from rota.engine.sharing import Known
from rota.errors import ClaimSuperseded, SessionGone
from rota.model import Beat, Micros
from rota.remote import Numbered, Standing
from rota.store.base import CHANGED, Store

SESSIONS_MOST = 10_000
"""The turns of so many sessions are carried over; those of more begin anew."""


class Remote:
    """The verbs of `rota.seam.remote`."""

    distant = False

    store: Store
    clock: Clock
    _ids: Ids
    _rng: Rng
    _known: Known
    measuring: Measuring
    news: Newsroom
    _remote_claims: dict[str, Claims]

    async def standing(self, session_id: str) -> Standing | None:
        return await self.store.standing(session_id)

    async def claim_numbered(
        self,
        session_id: str,
        numbered: Numbered,
        queues: Sequence[str],
        slots: int,
        avoid: Sequence[str],
        *,
        spare: int = 0,
        tenant: str | None = None,
    ) -> Claim:
        claims = self._claims_of(session_id)
        began = self.clock.monotonic()
        claim = await claims.claim(
            session_id, queues, slots, avoid, spare, tenant=tenant, numbered=numbered
        )
        self.measuring.claimed(claim.tasks, self.clock.now(), self.clock.monotonic() - began)
        self.news.claimed(claim.tasks)
        if not claim.tasks and numbered.begun:
            await self._check(session_id, numbered.number)
        await self.measuring.flush_now_and_then()
        return claim

    async def _check(self, session_id: str, number: int) -> None:
        """Find out whether nothing was got because the claim is over."""
        standing = await self.store.standing(session_id)
        if standing is None or not standing.alive(self.clock.now()):
            raise SessionGone(session_id)
        if standing.claimed != number or not standing.claim_open:
            raise ClaimSuperseded(session_id)

    async def end_claim(self, session_id: str, number: int) -> None:
        await self.store.end_claim(session_id, number)

    async def renew(self, session_id: str, lease: Micros) -> Beat:
        now = self.clock.now()
        return await self.store.renew(session_id, now, now + lease)

    async def drain_session(self, session_id: str) -> bool:
        drained = await self.store.drain_session(session_id, self.clock.now())
        if drained:
            self.news.touched(Topic.SESSIONS, [session_id], "draining")
            await self.store.notify(CHANGED)  # workers beat soon when something changed
        return drained

    def forget_session(self, session_id: str) -> None:
        self._remote_claims.pop(session_id, None)

    def _claims_of(self, session_id: str) -> Claims:
        claims = self._remote_claims.get(session_id)
        if claims is None:
            if len(self._remote_claims) >= SESSIONS_MOST:
                del self._remote_claims[next(iter(self._remote_claims))]
            claims = Claims(self.store, self.clock, self._rng, self._known)
            self._remote_claims[session_id] = claims
        return claims
