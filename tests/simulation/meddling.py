"""What people do to schedules meanwhile: change, pause, resume and delete them."""

from msgspec import Struct, structs

from rota.clock import ManualClock, Rng
from rota.declared import Declared
from rota.model import Micros
from rota.schedule import Schedule
from rota.schedule_edit import Change, declare, pause, resume
from rota.store.base import Store
from tests.simulation import world
from tests.simulation.world import Wish

TRIES = 5


class Era(Struct, frozen=True):
    """A schedule as it was from some change on: it decides the slots after its own cursor.

    Slots after `old_cursor` up to that were decided by the change itself.
    """

    schedule: Schedule
    wish: Wish
    old_cursor: Micros


class Ledger(Struct):
    """Everything that was done to schedules, by their ids; and when each was deleted."""

    eras: dict[str, list[Era]] = {}
    deleted: dict[str, Micros] = {}

    def begin(self, schedule: Schedule, wish: Wish) -> None:
        """Take in a new schedule."""
        self.eras[schedule.id] = [Era(schedule, wish, schedule.cursor)]


class Meddler:
    """Changes schedules by chance and keeps the ledger; it never dies, for it has to know."""

    def __init__(self, store: Store, clock: ManualClock, rng: Rng, ledger: Ledger) -> None:
        self._store = store
        self._clock = clock
        self._rng = rng
        self._ledger = ledger
        self.changes = 0

    async def meddle(self) -> None:
        """Do one thing to one schedule, unless somebody is faster again and again."""
        alive = [id_ for id_ in self._ledger.eras if id_ not in self._ledger.deleted]
        if not alive:
            return
        schedule_id = self._rng.choice(alive)
        what = self._rng.random()
        if what < 0.04:
            await self._delete(schedule_id)
        elif what < 0.35:
            await self._change(schedule_id, pause("for the simulation"))
        elif what < 0.65:
            await self._change(schedule_id, resume)
        elif what < 0.85:
            await self._change(schedule_id, declare(self._other_policy))
        else:
            wish = world.wish(self._rng, self._clock.now())
            await self._change(schedule_id, declare(lambda old: _other_rule(old, wish)), wish)

    async def _change(self, schedule_id: str, change: Change, wish: Wish | None = None) -> None:
        eras = self._ledger.eras[schedule_id]
        for _ in range(TRIES):
            (old,) = await self._store.get_schedules([schedule_id])
            made = None if old is None else change(old, self._clock.now())
            if old is None or made is None:
                return
            if await self._store.change_schedule(
                made.schedule, old.version, old.cursor, made.skips
            ):
                eras.append(Era(made.schedule, wish or eras[-1].wish, old.cursor))
                self.changes += 1
                return

    async def _delete(self, schedule_id: str) -> None:
        # Whatever is made of it until the answer is here is made at this time as well.
        self._ledger.deleted[schedule_id] = self._clock.now()
        assert await self._store.remove_schedule(schedule_id)
        self.changes += 1

    def _other_policy(self, old: Schedule) -> Declared:
        return structs.replace(_same(old), policy=world.policy(self._rng))


def _same(old: Schedule) -> Declared:
    return Declared(name=old.name, rule=old.rule, policy=old.policy, work=old.work)


def _other_rule(old: Schedule, wish: Wish) -> Declared:
    return structs.replace(_same(old), rule=wish.rule)
