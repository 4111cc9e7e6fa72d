"""Why something is done: what deeds take that need nothing else."""

from rota.server.route import In


class Reason(In, frozen=True):
    """What a deed may be told besides what it is done to."""

    reason: str | None = None
