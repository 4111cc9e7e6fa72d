"""The suite of tests/client/test_limits.py over a server (R8.4): clients cannot tell."""

from tests.client.test_limits import *  # noqa: F403
