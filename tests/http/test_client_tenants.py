"""The suite of tests/client/test_tenants.py over a server (R8.4): clients cannot tell."""

from tests.client.test_tenants import *  # noqa: F403
