"""What the demonstration cannot work with is refused with what to do about it."""

import tempfile
from pathlib import Path

import pytest

from rota.demo import DemoSettings, place, run_demo
from rota.errors import ConfigurationError, StoreError


def test_too_few_students_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="at least 1,000 students, not 999"):
        DemoSettings(students=999)


def test_a_lease_under_a_second_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="at least one second"):
        DemoSettings(lease=900_000)


@pytest.mark.parametrize("store", ["redis", "", "sqlite:///rota.db", "http://127.0.0.1:8300"])
def test_a_store_that_is_none_is_refused(store: str) -> None:
    with pytest.raises(ConfigurationError, match="is no store for the demo; take sqlite, postgres"):
        DemoSettings(store=store)


def test_a_store_out_of_reach_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    with pytest.raises(StoreError):
        run_demo(DemoSettings(store="postgresql://127.0.0.1:1/none", json=True))

    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "provider.db").touch()

    with pytest.raises(ConfigurationError, match="not empty; give the demo a folder of its own"):
        run_demo(DemoSettings(json=True, directory=tmp_path))


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ConfigurationError, match="the demo cannot use"):
        run_demo(DemoSettings(json=True, directory=tmp_path / "file"))


def test_an_embedded_server_without_its_extra_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "find_spec", lambda name: None)

    with (
        pytest.raises(ConfigurationError, match=r"pip install 'rota\[embedded\]'"),
        place.store("postgres", tmp_path),
    ):
        pass
