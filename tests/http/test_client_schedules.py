"""The suite of tests/client/test_schedules.py over a server (R8.4): clients cannot tell."""

from tests.client.test_schedules import *  # noqa: F403
