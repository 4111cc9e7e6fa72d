"""What must not drift about the project itself."""

import ast
import gc
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MAX_LINES = 400
MAX_FUNCTION_LINES = 40
LONG_FUNCTIONS = {
    "src/rota/store/postgres/rows.py: task_of": "a table: one line for each field of a task",
    "src/rota/views.py: full": "a table: one line for each field of a task",
}

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


def code_lines(source: str, function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function from `def` on, without docstring, comments and empty ones."""
    first = function.body[0]
    told = set[int]()
    if ast.get_docstring(function, clean=False) is not None:
        told.update(range(first.lineno, (first.end_lineno or 0) + 1))
    lines = source.splitlines()[function.lineno - 1 : function.end_lineno]
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("#") and number not in told
        for number, line in enumerate(lines, function.lineno)
    )


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Collect nothing: what the end of an object runs amid `ast.parse` makes Python 3.11 fail."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
def test_every_function_is_short() -> None:
    long = {
        f"{name}: {node.name}"
        for name, text in project_files().items()
        if name.startswith(("src/", "bench/", "tests/support/")) and name.endswith(".py")
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if code_lines(text, node) > MAX_FUNCTION_LINES
    }
    assert long == LONG_FUNCTIONS.keys()


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
