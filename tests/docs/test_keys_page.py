"""The examples of docs/how-to/keys.md do what the page says."""

import sys
from pathlib import Path

import pytest

from rota.access import IMPLIED, Role
from rota.server.rates import Bounds
from tests.docs.pages import FOLDER, module_of


def test_keys_are_made_and_revoked_as_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "school", raising=False)
    school = module_of("keys.md", tmp_path)
    with school.app as app:
        found = {key.name: key for key in app.keys.list()}
    sys.modules.pop("school", None)  # what another test calls so is another

    assert capsys.readouterr().out.startswith("rota_")
    assert found["sender"].revoked_at is not None
    assert found["board-app"].scope.tenant == "board"
    assert not found["dashboard"].scope.payloads


def test_the_page_names_every_role_and_the_bounds() -> None:
    page = (FOLDER / "keys.md").read_text(encoding="utf-8")
    bounds = Bounds()

    assert set(IMPLIED) == set(Role)
    assert all(f"| `{role}` |" in page for role in Role)
    assert f"{bounds.calls.per_second:,.0f} times a second" in page.replace("5,000", "5,000")
    assert f"{bounds.unknown.burst:.0f} at once" in page
