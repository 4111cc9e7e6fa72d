"""What a server runs itself: kinds of its own, such as deliveries of webhooks, and the duties."""

from rota.registry import Registry
from rota.server.place import Place

QUEUE = "rota"
"""The queue of what servers do themselves; they alone take from it."""


def internal_kinds(place: Place) -> Registry:
    """Return the kinds that a server runs itself, with `place` at hand."""
    kinds = Registry()
    for kind in place.internal:
        kinds.add(kind)
    return kinds
