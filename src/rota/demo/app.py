"""The app as the demo's worker processes load it: `rota worker rota.demo.app:app`."""

import os
from functools import cache
from pathlib import Path

from rota.config import DEFAULT_URL, URL_VARIABLE
from rota.demo.provider import Provider
from rota.demo.tasks import demo_app, provider_file

DIRECTORY_VARIABLE = "ROTA_DEMO_DIRECTORY"
QUEUE_VARIABLE = "ROTA_DEMO_QUEUE"


@cache
def provider() -> Provider:
    """Return this process's line to the provider, opened at the first message."""
    return Provider(provider_file(Path(os.environ.get(DIRECTORY_VARIABLE, "."))))


app = demo_app(
    os.environ.get(URL_VARIABLE, DEFAULT_URL), os.environ.get(QUEUE_VARIABLE, "demo"), provider
).app
