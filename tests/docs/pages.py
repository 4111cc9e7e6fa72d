"""Makes a module of the Python examples of a page, as a reader would."""

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parents[2] / "docs" / "how-to"

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def module_of(page: str, folder: Path) -> ModuleType:
    """Write a page's examples to a module `school` in a folder, in their order, and import it."""
    blocks = _BLOCK.findall((FOLDER / page).read_text(encoding="utf-8"))
    assert blocks, f"{page} has no examples"
    (folder / "school.py").write_text("\n\n".join(blocks), encoding="utf-8")
    sys.modules.pop("school", None)
    importlib.invalidate_caches()
    return importlib.import_module("school")
