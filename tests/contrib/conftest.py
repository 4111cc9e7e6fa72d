"""What calls of URLs need in every test."""

import pytest

from tests.contrib.calling import SECRET, Caller


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch) -> Caller:
    """Runs calls; nothing of the surroundings may count."""
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1/")
    monkeypatch.setenv("ROTA_SECRET_SHOP", SECRET)
    return Caller()
