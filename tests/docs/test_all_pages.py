"""What holds for every page: links lead somewhere, and commands are ones that there are."""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from rota.cli import build, command_first, named

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "deploy" / "README.md",
    ROOT / "examples" / "README.md",
]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


@cache
def prose(page: Path) -> str:
    return BLOCK.sub("", page.read_text("utf-8"))


@cache
def anchors(page: Path) -> frozenset[str]:
    """The names of a page's headings, as a forge makes them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return frozenset(heading.strip().replace(" ", "-") for heading in plain)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_link_leads_somewhere(page: Path) -> None:
    wrong = []
    for link in LINK.findall(prose(page)):
        path, _, anchor = link.partition("#")
        if "://" in path:
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(link)
    assert wrong == []


def test_every_page_can_be_found() -> None:
    """From the README on."""
    found, left = set[Path](), [ROOT / "README.md"]
    while left:
        page = left.pop()
        page = page / "README.md" if page.is_dir() else page
        if page in found or not page.is_file() or page.suffix != ".md":
            continue
        found.add(page)
        left += [
            (page.parent / link.partition("#")[0]).resolve() for link in LINK.findall(prose(page))
        ]
    assert [name for page, name in zip(PAGES, NAMES, strict=True) if page not in found] == []


def typed(page: Path) -> Iterator[str]:
    """Every line of a page's shell blocks that starts `rota`, comments and pipes cut off."""
    for language, block in BLOCK.findall(page.read_text("utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            if language in ("sh", "console") or line.startswith("$ "):
                for part in re.split(r" \| | && | > ", line.removeprefix("$ ")):
                    if found := re.match(r"(?:\w+=\S+ )*rota (?!…)(.*)", part.strip()):
                        yield found.group(1)


COMMANDS = sorted({(name, line) for page, name in zip(PAGES, NAMES, strict=True)
                   for line in typed(page)})  # fmt: skip


@pytest.mark.parametrize(("name", "line"), COMMANDS, ids=[f"{n}: {c}" for n, c in COMMANDS])
def test_every_command_is_one_that_there_is(name: str, line: str) -> None:
    """With its options, and words that these take."""
    ordered = command_first(shlex.split(line, comments=True))
    command, *_ = build(named(ordered)).parse_args(ordered, print_error=False, exit_on_error=False)
    assert command.__module__.startswith("rota.cli."), name
