"""Writes the OpenAPI document, so that a review sees every change of what callers may rely on.

python -m tests.support.openapi_dump
"""

import json
from pathlib import Path

from rota.server.openapi import document
from rota.server.routes import table

FILE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "openapi.json"


def dump() -> str:
    """Return the document as it is kept."""
    return json.dumps(document(table()), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(dump(), encoding="utf-8")
