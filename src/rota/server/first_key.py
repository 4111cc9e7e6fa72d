"""What a server without any key does: it stays on loopback, and says how to make one (S1)."""

from rota.access import Role
from rota.backend import Backend
from rota.errors import ConfigurationError
from rota.server.hosts import is_loopback

HOW = "rota keys create first --role admin, with the --url or --app of this server"


async def check_listening(backend: Backend, host: str) -> str | None:
    """Say what is to be done before anybody can call; None if nothing is.

    `ConfigurationError` if a server without a key would listen on anything but loopback
    (case B182).
    """
    now = backend.clock.now()
    live = [key for key in await backend.keys() if key.live(now)]
    if any(Role.ADMIN in key.roles for key in live):
        return None
    if live:
        return f"there is no admin's key; make one with: {HOW}"
    if not is_loopback(host):
        raise ConfigurationError(
            f"there is no key yet, so this server does not listen on {host}; make one with: {HOW}"
            " (or listen on 127.0.0.1)"
        )
    return f"there is no key yet, so every call is answered 401; make one with: {HOW}"
