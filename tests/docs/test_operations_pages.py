"""The pages on running Rota say what is so."""

import re
import sys
from pathlib import Path

import pytest

from rota.contrib.otel import Spans
from rota.logs import FIELDS
from tests.docs.pages import FOLDER, module_of
from tests.policy.test_diagnosis import FOUND


def test_an_app_is_traced_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/how-to/traces.md."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "school", raising=False)
    school = module_of("traces.md", tmp_path)
    sys.modules.pop("school", None)  # what another test calls so is another
    assert isinstance(school.app.registry.tracer, Spans)


def test_every_code_of_the_doctor_is_explained() -> None:
    """docs/how-to/doctor.md."""
    text = (FOLDER / "doctor.md").read_text("utf-8")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    told = set(re.findall(r"`(\w+)`", " ".join(rows)))
    codes = {re.split("[, ]", case, maxsplit=1)[0] for case in FOUND}
    assert told == codes | {"migrations"}


def test_every_field_of_a_log_is_explained() -> None:
    """docs/how-to/logs.md."""
    text = (FOLDER / "logs.md").read_text("utf-8")
    assert [field for field in FIELDS if f"`{field}`" not in text] == []
