"""Who is calling: the key, what it may do and how far it reaches."""

from msgspec import Struct

from rota.access import EVERYTHING, IMPLIED, Role, Scope, Via
from rota.server.rates import Bucket


class Caller(Struct, frozen=True, kw_only=True):
    """Whoever makes a call; `roles` are all that the key's roles include.

    `bucket` is what is left to them of their calls, None if nobody counts.
    """

    key_id: str
    name: str
    roles: frozenset[Role]
    scope: Scope = EVERYTHING
    via: Via = Via.KEY
    bucket: Bucket | None = None

    @classmethod
    def of(
        cls, key_id: str, name: str, roles: tuple[Role, ...], scope: Scope, via: Via = Via.KEY
    ) -> "Caller":
        """Return the caller with these roles and all that they include."""
        included = frozenset(role for given in roles for role in IMPLIED[given])
        return cls(key_id=key_id, name=name, roles=included, scope=scope, via=via)

    def may(self, roles: frozenset[Role]) -> bool:
        """Say whether one of these roles is the caller's."""
        return not self.roles.isdisjoint(roles)


NOBODY = Caller(key_id="", name="", roles=frozenset())
"""Who calls a route that is open to all."""
