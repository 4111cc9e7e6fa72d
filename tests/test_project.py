"""What must not drift about the project itself."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MAX_LINES = 400

INDEX_ADDRESS = re.compile(
    r"pypi\.org/simple|pythonhosted\.org|registry\.npmjs\.org|deb\.debian\.org"
    r"|^--(extra-)?index-url|^--find-links",
    re.MULTILINE,
)
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|root|Users)/|/work/(?:main|shared)\b")


@cache
def project_files() -> dict[str, str]:
    """Every text file that is tracked or about to be, by its path from the root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607 - git is wherever the developer has it
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = {}
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        content = path.read_bytes() if path.is_file() else b"\0"
        if b"\0" not in content:
            found[name] = content.decode()
    return found


def dependencies() -> list[str]:
    """Every dependency as it is written, of the package, its extras and its development."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lists = [
        settings["build-system"]["requires"],
        settings["project"]["dependencies"],
        *settings["project"]["optional-dependencies"].values(),
        *settings["dependency-groups"].values(),
    ]
    return [dependency for written in lists for dependency in written]


def test_there_is_no_lock_with_addresses() -> None:
    assert not [name for name in project_files() if Path(name).name == "uv.lock"]


@pytest.mark.parametrize("pattern", [INDEX_ADDRESS, MACHINE_PATH], ids=["index", "machine"])
def test_no_file_names_an_index_or_a_path_of_one_machine(pattern: re.Pattern[str]) -> None:
    found = {
        f"{name}: {match.group()}"
        for name, text in project_files().items()
        for match in pattern.finditer(text)
    }
    assert not found


def test_every_source_file_is_short() -> None:
    long = {
        name: text.count("\n")
        for name, text in project_files().items()
        if name.startswith("src/") and text.count("\n") > MAX_LINES
    }
    assert not long


def test_every_dependency_has_a_reason() -> None:
    lines = ["", *(ROOT / "pyproject.toml").read_text().splitlines()]
    written = {f'"{dependency}"' for dependency in dependencies()}
    without = [
        line.strip()
        for above, line in pairwise(lines)
        if any(dependency in line for dependency in written)
        # Beside it, or above it where the line has no room for one.
        and not (re.search(r"# \w.{15,}", line) or above.startswith("# "))
    ]
    assert not without


def test_the_lock_holds_every_dependency_with_hashes() -> None:
    lock = (ROOT / "requirements/dev.txt").read_text()
    entries = dict(re.findall(r"^([a-z0-9-]+)==\S+(.*(?:\n .*)*)", lock, re.MULTILINE))
    assert not [name for name, rest in entries.items() if "--hash=sha256:" not in rest]
    wanted = {re.split(r"[^\w.-]", dependency)[0] for dependency in dependencies()}
    assert wanted <= entries.keys()


def built(folder: Path, kind: str = "wheel") -> set[str]:
    """Build a wheel of a clean copy of the project and return what is in it.

    Only the dashboard's parts are taken from where they are: nothing is fetched.
    """
    copy = folder / "copy"
    for name in project_files():
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    (copy / "web/node_modules").symlink_to(ROOT / "web/node_modules")
    subprocess.run(
        [sys.executable, "-c", BUILD.format(kind=kind), str(folder)],
        cwd=copy,
        capture_output=True,
        check=True,
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        return set(packed.namelist())


BUILD = "import sys; from hatchling import build; build.build_{kind}(sys.argv[1])"
WITH_PARTS = pytest.mark.skipif(
    not (ROOT / "web/node_modules").exists(),
    reason="the dashboard's parts are not installed: make dashboard",
)


@pytest.mark.slow
@WITH_PARTS
def test_the_wheel_holds_every_file_of_the_package_and_the_dashboard(tmp_path: Path) -> None:
    packed = built(tmp_path)
    ours = {name.removeprefix("src/") for name in project_files() if name.startswith("src/rota/")}
    assert ours <= packed
    page = "rota/server/dashboard/index.html"
    scripts = [
        name for name in packed if re.fullmatch(r"rota/server/dashboard/assets/.*\.js", name)
    ]
    assert page in packed
    assert len(scripts) > 10
    assert not [name for name in packed if "node_modules" in name or name.endswith(".svelte")]


@pytest.mark.slow
@WITH_PARTS
def test_an_editable_install_builds_nothing(tmp_path: Path) -> None:
    """Whoever works on Rota is not held up: `make dashboard` builds it when it is wanted."""
    assert not [name for name in built(tmp_path, "editable") if "dashboard" in name]
    assert not (tmp_path / "copy/src/rota/server/dashboard").exists()
