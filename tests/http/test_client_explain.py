"""The suite of tests/client/test_explain.py over a server (R8.4): clients cannot tell."""

from tests.client.test_explain import *  # noqa: F403
