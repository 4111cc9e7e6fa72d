"""The dashboard as a browser gets it: one page at every address, and files to keep (R9.2)."""

import gzip
from pathlib import Path

import pytest

from rota.server import built as built_module
from rota.server.built import BuiltFile
from rota.server.front import Front
from rota.server.routes import home
from tests.support.asking import Asker

ROOT = Path(__file__).resolve().parents[2]
PAGE = BuiltFile(b"<!doctype html>" * 50, gzip.compress(b"x"), "text/html", "no-cache", '"page"')
SCRIPT = BuiltFile(b"1", None, "text/javascript", "immutable", '"script"')


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dashboard that was built, as far as a server knows."""
    files = {"/index.html": PAGE, "/assets/a-1.js": SCRIPT, "/boot.js": SCRIPT}
    monkeypatch.setattr(home, "built", lambda: files)


@pytest.fixture
def visitor(server: Front) -> Asker:
    """Somebody without a key."""
    return Asker(server, None)


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize("path", ["/", "/tasks", "/tasks/0193?peek=1&peek=2", "/queues/a%2Fb?x"])
async def test_every_page_is_the_one_page_under_its_policy(visitor: Asker, path: str) -> None:
    told = await visitor.ask("GET", path)
    assert (told.status, told.body) == (200, PAGE.body)
    assert "script-src 'self'" in told.headers["content-security-policy"]
    assert "unsafe" not in told.headers["content-security-policy"]


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize("path", ["/nowhere", "/assets/a-2.js", "/assets/..%2Findex.html", "/v1/x"])
async def test_what_is_no_page_is_no_page(visitor: Asker, path: str) -> None:
    told = await visitor.ask("GET", path)
    assert told.status in (401, 404)
    assert "html" not in told.headers["content-type"]


BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize("path", ["/nowhere", "/tasks/1/2/3", "/queues", "/v2/tasks", "/%00"])
async def test_a_person_at_an_unknown_address_gets_the_page_that_says_so(
    visitor: Asker, path: str
) -> None:
    """The address stays, the page says "not found" inside, and the status says it as well."""
    told = await visitor.ask("GET", path, headers=BROWSER)
    assert (told.status, told.body) == (404, PAGE.body)
    assert "default-src 'none'" in told.headers["content-security-policy"]
    assert (await visitor.ask("HEAD", path, headers=BROWSER)).status == 404
    # Whoever is no person, or changes anything, is told as everywhere.
    for method, headers in (("GET", {}), ("POST", BROWSER)):
        told = await visitor.ask(method, path, headers=headers)
        assert (told.status, told.json["code"]) == (401, "unauthorised")


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize("path", ["/v1/x", "/v1", "/v1/tasks/1/2", "/assets/x.js", "/assets/a/b"])
async def test_what_is_no_page_is_none_for_people_either(
    visitor: Asker, asker: Asker, path: str
) -> None:
    """Never HTML: a script that is gone must not be taken for one."""
    for who in (visitor, asker):
        told = await who.ask("GET", path, headers=BROWSER)
        assert told.status in (401, 404)
        assert told.headers["content-type"] == "application/problem+json"


@pytest.mark.usefixtures("made")
async def test_what_the_browser_has_is_not_sent_again(visitor: Asker) -> None:
    first = await visitor.ask("GET", "/assets/a-1.js")
    assert (first.body, first.headers["cache-control"]) == (b"1", "immutable")
    again = await visitor.ask("GET", "/assets/a-1.js", headers={"If-None-Match": '"script"'})
    assert (again.status, again.body) == (304, b"")
    packed = await visitor.ask("GET", "/", headers={"Accept-Encoding": "gzip, br"})
    assert (packed.body, packed.headers["content-encoding"]) == (PAGE.packed, "gzip")


async def test_a_checkout_that_has_not_built_it_says_how(
    visitor: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home, "built", dict)
    told = await visitor.ask("GET", "/tasks")
    assert told.status == 200
    assert b"make dashboard" in told.body
    # It holds to the policy that it is sent with (S6, S7).
    assert "default-src 'none'" in told.headers["content-security-policy"]
    for word in (b"<script", b"<style", b"style=", b"onclick", b"javascript:"):
        assert word not in told.body


def test_only_what_the_build_makes_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "dashboard"
    (folder / "assets").mkdir(parents=True)
    for name in ("index.html", "notes.txt", "assets/a.js", "assets/a.js.map"):
        (folder / name).write_text("x" * 1000)
    monkeypatch.setattr(built_module, "files", lambda _: tmp_path)
    found = built_module.built.__wrapped__()
    assert set(found) == {"/index.html", "/assets/a.js"}
    assert found["/assets/a.js"].cache == built_module.FOREVER
    packed = found["/assets/a.js"].packed
    assert packed is not None
    assert gzip.decompress(packed) == b"x" * 1000
