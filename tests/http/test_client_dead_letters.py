"""The suite of tests/client/test_dead_letters.py over a server (R8.4): clients cannot tell."""

from tests.client.test_dead_letters import *  # noqa: F403
