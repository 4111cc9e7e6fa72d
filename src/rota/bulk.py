"""Many tasks changed by one call, in runs, so that neither memory nor a transaction grows (R5.3).

Each run is one call to the store and holds by itself. A change that was ended halfway is carried
out again from the beginning: what it has done already answers so, and nothing is done twice.
"""

from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from itertools import chain, islice, repeat
from math import isfinite
from typing import Any, Generic, Protocol, Self, TypeVar

from msgspec import Struct

from rota.backend import Backend
from rota.client import Client
from rota.clock import parse_id
from rota.errors import InvalidTask, MoreThanExpected
from rota.model import State, TaskFilter
from rota.pace import Pace

RUN = 1_000
"""So many tasks are changed in one transaction at most."""
COUNT_MOST = 1_000_000
"""A dry run counts no further than this in each state."""

A = TypeVar("A")
A_contra = TypeVar("A_contra", contravariant=True)


class Report(Protocol[A_contra]):
    """What a change has done so far, in numbers."""

    def plus(self, answers: Iterable[A_contra]) -> Self:
        """Return the sum with the answers of a further run."""
        ...


R = TypeVar("R", bound=Report[Any])

Act = Callable[[Backend, Sequence[str]], Awaitable[Sequence[A]]]
"""Changes some tasks and says what became of each; may be repeated without harm."""


class Terms(Struct, frozen=True, kw_only=True):
    """On what terms a change is carried out; `rate` is tasks per second."""

    dry_run: bool = False
    expect_at_most: int | None = None
    rate: float | None = None

    def __post_init__(self) -> None:
        if self.rate is not None and not (isfinite(self.rate) and self.rate > 0):
            raise InvalidTask("rate", f"must be a number above 0, not {self.rate!r}")
        if self.expect_at_most is not None and self.expect_at_most < 0:
            raise InvalidTask("expect_at_most", f"must not be negative, not {self.expect_at_most}")


TERMS = Terms()


class Deed(Struct, Generic[A, R], frozen=True, kw_only=True):
    """What a change is.

    `missing` is the answer to what is the id of no task, `foreseen` the answer that a task in
    each state will get, `nothing` the report before anything is done.
    """

    act: Act[A]
    missing: A
    foreseen: Mapping[State, A]
    nothing: R


def choose(
    ids: str | Iterable[str] | None,
    given: Mapping[str, Any],
    where: TaskFilter,
    *,
    everything: bool,
) -> Iterator[str] | TaskFilter:
    """Return the tasks that are meant: those ids, or `where`, which is what was `given`.

    An empty filter is refused: whoever means everything has to say so.
    """
    # What is empty narrows nothing, but that "" is a tenant: the one of tasks without any.
    filtered = any(
        value not in (None, "", (), []) or (name, value) == ("tenant", "")
        for name, value in given.items()
    )
    ways = (ids is not None) + filtered + everything
    if ways > 1:
        raise InvalidTask("filter", "ids, a filter and all=True exclude each other; give one")
    if ways == 0:
        raise InvalidTask("filter", "is empty; give ids, a filter, or all=True for everything")
    if ids is None:
        return where
    return iter([ids] if isinstance(ids, str) else ids)


class Bulk(Generic[A, R]):
    """A change of many tasks that is ready to be carried out, blocking or awaited."""

    def __init__(
        self,
        client: Client,
        deed: Deed[A, R],
        chosen: Iterator[str] | TaskFilter,
        terms: Terms = TERMS,
        on_progress: Callable[[R], None] | None = None,
    ) -> None:
        self._client = client
        self._deed = deed
        self._where = chosen if isinstance(chosen, TaskFilter) else None
        self._ids = None if isinstance(chosen, TaskFilter) else chosen
        self._terms = terms
        self._on_progress = on_progress
        self._pace = Pace(terms.rate, RUN)
        self._after: str | None = None
        self._begun = False
        if self._where is None and terms.expect_at_most is not None:
            raise InvalidTask("expect_at_most", "goes with a filter")

    # -- carried out by a thread, and by a loop ---------------------------------------------------

    def run(self) -> R:
        """Carry out the change and say what it did; a dry run says what it would do."""
        if self._counts:
            return self._client.portal.run(self._count)
        total = self._deed.nothing
        for pairs in self.runs():
            total = self._add(total, pairs)
        return total

    async def arun(self) -> R:
        """Do what `run` does without blocking the event loop."""
        if self._counts:
            return await self._client.portal.arun(self._count)
        total = self._deed.nothing
        async for pairs in self.aruns():
            total = self._add(total, pairs)
        return total

    def runs(self) -> Iterator[list[tuple[str, A]]]:
        """Carry out the change; yield what became of each task, run by run."""
        while pairs := self._client.portal.run(self._step(self._given())):
            yield pairs

    async def aruns(self) -> AsyncIterator[list[tuple[str, A]]]:
        """Do what `runs` does without blocking the event loop."""
        while pairs := await self._client.portal.arun(self._step(self._given())):
            yield pairs

    def each(self) -> Iterator[tuple[str, A]]:
        """Carry out the change; yield what became of each task."""
        return chain.from_iterable(self.runs())

    async def aeach(self) -> AsyncIterator[tuple[str, A]]:
        """Do what `each` does without blocking the event loop."""
        async for pairs in self.aruns():
            for pair in pairs:
                yield pair

    def _add(self, total: R, pairs: Sequence[tuple[str, A]]) -> R:
        total = total.plus(answer for _, answer in pairs)
        if self._on_progress is not None:
            self._on_progress(total)
        return total

    def _given(self) -> list[str] | None:
        # Read by whoever asked for the change: the ids may come from a file, or from the network.
        return None if self._ids is None else list(islice(self._ids, self._pace.size))

    # -- on the private loop --------------------------------------------------------------------

    @property
    def _counts(self) -> bool:
        return self._terms.dry_run and self._where is not None

    async def _count(self) -> R:
        assert self._where is not None
        where = self._where
        found = await self._client.patiently(lambda backend: backend.count(where, COUNT_MOST))
        deed = self._deed
        answers = [repeat(deed.foreseen.get(s, deed.missing), n) for s, n in found.items()]
        return deed.nothing.plus(chain.from_iterable(answers))

    def _step(self, given: list[str] | None) -> Callable[[], Any]:
        async def step() -> list[tuple[str, A]]:
            texts = await self._page() if given is None else given
            if not texts:
                return []
            clock = (await self._client.opened()).clock
            await self._pace.wait(len(texts), clock)
            return await self._change(texts)

        return step

    async def _page(self) -> list[str]:
        assert self._where is not None
        where, after = self._where, self._after
        await self._check_expected(where)
        # Downwards from the newest: what is made meanwhile is newer, and is left alone.
        page = await self._client.patiently(
            lambda backend: backend.find_ids(where, before_id=after, limit=self._pace.size)
        )
        self._after = page[-1] if page else after
        return page

    async def _check_expected(self, where: TaskFilter) -> None:
        most, begun, self._begun = self._terms.expect_at_most, self._begun, True
        if most is None or begun:
            return
        found = await self._client.patiently(lambda backend: backend.count(where, most + 1))
        if sum(found.values()) > most:
            raise MoreThanExpected(most)

    async def _change(self, texts: Sequence[str]) -> list[tuple[str, A]]:
        known = {text: parse_id(text) for text in texts}
        ids = list(dict.fromkeys(filter(None, known.values())))
        act = self._look if self._terms.dry_run else self._deed.act
        answers = await self._client.patiently(lambda backend: act(backend, ids)) if ids else []
        became = dict(zip(ids, answers, strict=True))
        return [
            (text, self._deed.missing if id_ is None else became[id_])
            for text, id_ in known.items()
        ]

    async def _look(self, backend: Backend, ids: Sequence[str]) -> list[A]:
        deed = self._deed
        return [
            deed.foreseen.get(task.state, deed.missing) if task else deed.missing
            for task in await backend.get(ids)
        ]
