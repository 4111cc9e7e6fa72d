"""Drops what is old: history by the day or in batches, dead letters, keys, sessions, counts."""

import logging
from collections.abc import Iterator
from functools import partial
from typing import Final

from msgspec import Struct

from rota.config import (
    DAY,
    HOUR,
    KEEP_AUDIT,
    KEEP_EFFECTS,
    KEEP_SESSIONS,
    KEEP_SLOTS,
    KEEP_STATISTICS,
    KEEP_TALLIES,
    MINUTE,
)
from rota.model import Micros, Retention, State
from rota.store.postgres import history
from rota.store.postgres.address import Address
from rota.store.postgres.connections import PRUNE, Line
from rota.store.postgres.faults import driver
from rota.store.postgres.history import Day
from rota.store.postgres.statements import Connection, execute, statement
from rota.store.postgres.tally import SETTLED

log = logging.getLogger("rota.store")

DEFAULT: Final = "finished_default"
SLICE: Final = HOUR
"""A day is searched for what goes before it in slices of this length."""
SLICES: Final = 48
"""So many are searched at most in one call."""
LATE: Final = 5 * MINUTE
"""What finished may become visible so much later; that far back is searched again."""


class Rule(Struct, frozen=True):
    """What is kept for `kept`: the history of a queue, or of a state in all queues but others."""

    kept: Micros
    queue: str | None = None
    state: State | None = None
    others: tuple[str, ...] = ()


def rules(retention: Retention) -> list[Rule]:
    """Return the rules that a retention stands for."""
    others = tuple(retention.queues)
    return [
        Rule(retention.completed, state=State.COMPLETED, others=others),
        Rule(retention.cancelled, state=State.CANCELLED, others=others),
        *(Rule(kept, queue=queue) for queue, kept in retention.queues.items()),
    ]


def goes_before(rule: Rule, longest: Micros) -> bool:
    """Say whether what a rule speaks of goes before the day that it lies in is dropped whole.

    What is kept about as long as anything else goes with its day, up to a day late; what is kept
    for less than a day cannot wait for that.
    """
    return rule.kept < DAY or longest - rule.kept >= DAY


class Pruner:
    """Prunes on a connection of its own, which nothing that is in a hurry has to wait for.

    It remembers up to where each day has been searched for what goes before the day.
    """

    def __init__(self, address: Address) -> None:
        self._line = Line(address, PRUNE)
        self._searched: dict[tuple[Day, Rule], Micros] = {}

    async def close(self) -> None:
        """Let go of the connection."""
        await self._line.close()

    async def prune(self, now: Micros, retention: Retention, limit: int) -> int:
        """Drop some of what is old, make room for what is to come; return how many tasks went."""
        every = rules(retention)
        longest = max(rule.kept for rule in every)
        days = await history.days(self._line)
        over = [day for day in days if day.end <= now - longest]
        dropped = await self._turn_over(days, over, now)
        pruned = await self._prune_dead_letters(now, retention, limit)
        before = [rule for rule in every if goes_before(rule, longest)]
        for day in days:
            if day not in over and pruned < limit:
                pruned += await self._search(day, before, now, limit - pruned)
        for rule in every:
            if pruned < limit:
                pruned += await self._delete(DEFAULT, rule, 0, now - rule.kept, limit - pruned)
        await self._prune_the_rest(now, limit)
        if not dropped + pruned:
            # Nothing to do for a while: who prunes once a minute need not stay connected.
            await self._line.close()
        return dropped + pruned

    async def _turn_over(self, days: list[Day], over: list[Day], now: Micros) -> int:
        """Make the days to come and drop those that are over; return how many tasks went."""
        dropped = 0
        try:
            await history.make_ahead(self._line, days, now)
            for day in over:
                dropped += await history.drop(self._line, day)
        except history.InTheWay:
            log.info("somebody reads the history for long; its days are turned over later")
        self._searched = {at: until for at, until in self._searched.items() if at[0] not in over}
        return dropped

    async def _search(self, day: Day, every: list[Rule], now: Micros, limit: int) -> int:
        """Delete what goes before its day, slice by slice."""
        pruned = 0
        for rule in every:
            for since, until in self._slices(day, rule, now):
                left = limit - pruned
                gone = await self._delete(day.partition, rule, since - LATE, until, left)
                pruned += gone
                if gone == left:
                    return pruned
                self._searched[day, rule] = until
        return pruned

    def _slices(self, day: Day, rule: Rule, now: Micros) -> Iterator[tuple[Micros, Micros]]:
        """Return what has not been searched yet, in slices; the last one ends where it is kept."""
        end = min(day.end, now - rule.kept)
        since = self._searched.get((day, rule), day.begin)
        for _ in range(SLICES):
            if since >= end:
                return
            until = min(since + SLICE, end)
            yield since, until
            since = until

    async def _delete(
        self, partition: str, rule: Rule, since: Micros, until: Micros, limit: int
    ) -> int:
        sql, names = statement("prune_finished")
        values = {
            "since": since,
            "until": until,
            "queue": rule.queue,
            "state": rule.state,
            "others": list(rule.others),
            "limit": limit,
        }
        values_ = [values[name] for name in names]

        async def delete(connection: Connection) -> int:
            try:
                status = await connection.execute(sql.replace(DEFAULT, partition), *values_)
            except driver().UndefinedTableError:
                # Another node has dropped it; by its clock the day was over already.
                return 0
            return int(status.rpartition(" ")[2])

        return await self._line.run(delete)

    async def _prune_dead_letters(self, now: Micros, retention: Retention, limit: int) -> int:
        return await self._execute(
            "prune_dead_letters",
            failed_before=now - retention.failed,
            discarded_before=now - retention.discarded,
            limit=limit,
        )

    async def _prune_the_rest(self, now: Micros, limit: int) -> None:
        await self._execute("prune_keys", now=now, limit=limit)
        await self._execute("prune_submissions", now=now, limit=limit)
        await self._execute("prune_audit", before=now - KEEP_AUDIT, limit=limit)
        await self._execute("prune_access_keys", before=now - KEEP_AUDIT)
        await self._execute("prune_logins", now=now, limit=limit)
        await self._execute("prune_sessions", ended_before=now - KEEP_SESSIONS)
        await self._execute("prune_tallies", before=now - KEEP_TALLIES, limit=limit)
        for span, kept in KEEP_STATISTICS.items():
            await self._execute("prune_statistics", span=span, before=now - kept, limit=limit)
            await self._execute("prune_service", span=span, before=now - kept, limit=limit)
        await self._execute("add_up_tallies", before=now - SETTLED, limit=limit)
        await self._execute("prune_effects", before=now - KEEP_EFFECTS, limit=limit)
        await self._execute("prune_slots", before=now - KEEP_SLOTS, limit=limit)
        await self._execute("prune_skips", before=now - KEEP_SLOTS, limit=limit)

    async def _execute(self, name: str, /, **values: Micros) -> int:
        return await self._line.run(partial(_run, name, values))


async def _run(name: str, values: dict[str, Micros], connection: Connection) -> int:
    return await execute(connection, name, **values)
