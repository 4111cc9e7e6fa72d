"""The suite of tests/client/test_tasks.py over a server (R8.4): clients cannot tell."""

from tests.client.test_tasks import *  # noqa: F403

# These reach through the client into its store.
del test_a_store_that_is_away_for_a_moment_ends_no_change  # noqa: F821
