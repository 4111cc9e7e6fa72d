"""The suite of tests/client/test_kinds.py over a server (R8.4): clients cannot tell."""

from tests.client.test_kinds import *  # noqa: F403
