"""Tables that fit a terminal: what is too wide gives way, ids last and states never."""

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from rota.cli.text import SHORTEST

GAP = "  "
NARROWEST = 6
"""A column is not cut shorter than this; less would tell nothing."""


def fitted(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[list[str]]:
    """Return the heading and the rows with every cell as wide as its column.

    Together with a gap between columns no line is wider than `width`, if that can be.
    """
    lines = [list(headings), *(list(row) for row in rows)]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    over = sum(widths) + len(GAP) * (len(widths) - 1) - width
    over = _shrink(widths, over, NARROWEST, [h not in ("ID", "STATE") for h in headings])
    # An id that lost its end no longer tells its task from those made in the same millisecond.
    _shrink(widths, over, SHORTEST + 1, [h == "ID" for h in headings])
    return [[_cut(cell, size) for cell, size in zip(line, widths, strict=True)] for line in lines]


def _shrink(widths: list[int], over: int, least: int, may: Sequence[bool]) -> int:
    """Take from the widest of the columns that may give until enough is given or all are narrow."""
    while over > 0:
        wide = [at for at, size in enumerate(widths) if may[at] and size > least]
        if not wide:
            break
        widths[max(wide, key=lambda at: widths[at])] -= 1
        over -= 1
    return over


def _cut(text: str, size: int) -> str:
    if cell_len(text) <= size:
        return set_cell_size(text, size)
    return f"{set_cell_size(text.removesuffix('…'), size - 1)}…"
