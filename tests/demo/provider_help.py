"""Makes up what a provider recorded."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from rota.demo.provider import Message, Provider, create_provider
from rota.demo.tasks import RESULT, provider_file


def message(recipient: str, *, key: str = "", kind: str = RESULT) -> Message:
    """A message whose key is that of its recipient unless another is given."""
    return Message(key or f"{kind}/{recipient}", kind, recipient, "+910000000000", "passed")


@contextmanager
def provider_in(directory: Path) -> Iterator[Provider]:
    """A new provider, closed at the end."""
    create_provider(provider_file(directory))
    with closing(Provider(provider_file(directory))) as provider:
        yield provider
