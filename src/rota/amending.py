"""Amending and deleting many tasks: the deeds, and the states that are meant by default."""

from collections.abc import Sequence
from typing import Final

from rota.actions import AmendOutcome, Changes, DeleteOutcome
from rota.backend import Backend
from rota.bulk import Deed
from rota.model import State
from rota.reports import AmendReport, DeleteReport

WAITING: Final = (State.SCHEDULED, State.READY)
OVER: Final = (State.COMPLETED, State.CANCELLED)


def amending(changes: Changes) -> Deed[AmendOutcome, AmendReport]:
    """Return the deed that changes tasks that wait."""

    async def act(backend: Backend, ids: Sequence[str]) -> Sequence[AmendOutcome]:
        return await backend.amend(ids, changes)

    foreseen = dict.fromkeys(State, AmendOutcome.NOT_WAITING)
    foreseen |= dict.fromkeys(WAITING, AmendOutcome.DONE)
    return Deed(act=act, missing=AmendOutcome.NOT_FOUND, foreseen=foreseen, nothing=AmendReport())


async def _delete(backend: Backend, ids: Sequence[str]) -> Sequence[DeleteOutcome]:
    return await backend.delete(ids)


DELETING: Final = Deed(
    act=_delete,
    missing=DeleteOutcome.NOT_FOUND,
    foreseen=dict.fromkeys(State, DeleteOutcome.NOT_FINISHED)
    | dict.fromkeys((*OVER, State.FAILED), DeleteOutcome.DONE),
    nothing=DeleteReport(),
)
