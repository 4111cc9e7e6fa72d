"""How long a page is and where it begins: the same of everything that is listed."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from rota import InvalidTask, Rota

Lister = Callable[..., Sequence[Any]]

LISTS: dict[str, Callable[[Rota], Lister]] = {
    "tasks": lambda app: app.tasks.list,
    "dead letters": lambda app: app.dead_letters.list,
    "schedules": lambda app: app.schedules.list,
    "actions": lambda app: app.actions.list,
    "alerts": lambda app: app.alerts.list,
    "audit": lambda app: app.audit.list,
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rota]:
    """An app on an empty store."""
    with Rota(f"sqlite:///{Path(tmp_path_factory.mktemp('pages')) / 'rota.db'}") as app:
        yield app


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("limit", [0, -1, 501, 1.5, True, "5", None])
def test_a_limit_is_a_whole_number_from_1_to_500(app: Rota, name: str, limit: Any) -> None:
    with pytest.raises(InvalidTask, match="limit: must be a whole number from 1 to 500"):
        LISTS[name](app)(limit=limit)


@pytest.mark.parametrize("name", [name for name in LISTS if name != "schedules"])
@pytest.mark.parametrize("after", ["", "x" * 10_000, "\0", "0193f2a1"])
def test_a_page_begins_after_an_id(app: Rota, name: str, after: str) -> None:
    with pytest.raises(InvalidTask, match=r"after: '.* is not the id of a") as raised:
        LISTS[name](app)(after=after)
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("limit", [1, 500])
def test_a_page_of_an_empty_store_is_empty(app: Rota, name: str, limit: int) -> None:
    assert list(LISTS[name](app)(limit=limit)) == []
