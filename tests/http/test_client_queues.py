"""The suite of tests/client/test_queues.py over a server (R8.4): clients cannot tell."""

from tests.client.test_queues import *  # noqa: F403

# These reach through the client into its store.
del test_a_change_is_merged_anew_where_somebody_else_was_faster  # noqa: F821
del test_a_change_that_is_never_fast_enough_is_given_up  # noqa: F821
del test_a_change_for_a_version_holds_for_that_version_only  # noqa: F821
