"""Every threat of table S, and the cases of the areas security, pg and dashboard, has its test.

Table S is reliability.md §5, the cases are those of cases.md. A line says who shows it.
"""

from pathlib import Path

import pytest

import tests
from rota.errors import ConfigurationError
from rota.server.settings import ServerSettings
from tests.server.test_pitfalls import SHOWN_BY as PITFALLS

SHOWN_BY = {
    "S1": "server/test_matrix.py without_a_key_every_route_is_closed",
    "S2": "server/test_matrix.py what_is_foreign_looks_like_what_is_not_there",
    "S3": "server/test_keys.py nothing_in_rota_can_turn_data_into_code",
    "S4": "contrib/test_http_reach.py it_connects_to_the_address_that_was_checked",
    "S5": "contrib/test_signature.py a_replay_outside_the_window_is_refused",
    "S6": "server/test_login.py pages_allow_no_script_but_their_own",
    "S7": "server/test_login.py another_site_changes_nothing",
    "S8": "server/test_bounds.py at_a_bound_it_is_taken_and_above_it_is_refused",
    "S9": "server/test_every_route.py a_text_is_a_text_wherever_it_is_sent",
    "S10": "test_logs.py line_breaks_cannot_begin_a_line",
    "S11": "server/test_every_route.py no_secret_is_told_twice",
    "S12": "server/test_keys.py there_is_no_default_key",
    "S13": "server/test_worker.py a_session_belongs_to_the_key_that_opened_it",
    "S14": "server/test_security.py keys_do_not_cross_a_network_in_the_clear",
    "S15": "contrib/test_command.py nothing_goes_through_a_shell_unless_that_is_asked_for",
    "S16": "test_project.py the_lock_holds_every_dependency_with_hashes",
    "S17": "server/test_every_route.py every_change_leaves_one_entry",
    "B151": "conformance/test_plans_postgres.py a_claim_locks_exactly_what_it_takes",
    "B152": "conformance/test_plans_postgres.py staging_touches_what_is_due",
    "B154": "store/test_postgres.py hints_that_come_together_go_as_one_with_the_earliest_instant",
    "B155": "system/test_pgbouncer.py two_stores_at_once_use_every_verb",
    "B157": "node/test_slots.py whatever_a_handler_raises_ends_its_run_and_nothing_else",
    "B158": "system/test_outage.py "
    "what_was_accepted_is_done_once_although_the_server_breaks_under_load",
    "B170": "conformance/test_search_cost.py postgres_looks_at_no_more_than_it_may",
    "B172": "server/test_matrix.py a_cookie_without_its_word_changes_nothing",
    "B173": "contrib/test_http_reach.py credentials_stay_with_the_origin_that_they_were_meant_for",
    "B175": "server/test_keys.py what_looks_like_an_object_stays_data",
    "B176": "server/test_keys.py data_never_names_code",
    "B178": "contrib/test_addresses.py what_is_no_plainly_public_address_is_refused",
    "B179": "server/test_schedules.py what_does_not_fit_is_named",
    "B181": "server/test_matrix.py the_tenant_in_a_body_is_the_key_s_or_refused",
    "B182": "server/test_keys.py without_a_key_a_server_stays_on_loopback",
    "away": "system/test_server.py a_server_outlives_its_store_and_never_claims_success_without_it",
    "drain": "system/test_server.py a_stop_ends_streams_at_once_and_answers_what_is_under_way",
}


@pytest.mark.parametrize("case", SHOWN_BY)
def test_each_case_has_its_test(case: str) -> None:
    path, name = SHOWN_BY[case].split()
    assert f"def test_{name}(" in (Path(tests.__path__[0]) / path).read_text("utf-8")


@pytest.mark.parametrize("number", range(1, 26))
def test_each_pitfall_has_its_test(number: int) -> None:
    path, name = PITFALLS[number].split()
    assert f"def test_{name}(" in (Path(tests.__path__[0]) / path).read_text("utf-8")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.7", "tasks.example"])  # noqa: S104
def test_keys_do_not_cross_a_network_in_the_clear(host: str) -> None:
    """S14: beyond loopback there is TLS, here or, if somebody says so, at a proxy."""
    with pytest.raises(ConfigurationError, match="--tls-cert"):
        ServerSettings(host=host)
    for given in ({"tls_cert": "c.pem", "tls_key": "k.pem"}, {"insecure_plain": True}):
        assert ServerSettings(host=host, **given).host == host
