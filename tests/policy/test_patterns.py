"""Which queues fit a pattern, and which a session takes (R7.6, R7.8)."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.policy.patterns import matches, takes


@pytest.mark.parametrize(
    ("pattern", "fits", "others"),
    [
        ("mail", ["mail"], ["mails", "mai", "Mail"]),
        ("*", ["a", "mail.bulk"], []),
        ("mail.*", ["mail.", "mail.bulk", "mail.a.b"], ["mail", "xmail.a"]),
        ("*.eu", ["sms.eu", ".eu"], ["eu", "sms.eu.x"]),
        ("a*b*c", ["abc", "a1b2c", "abcbc"], ["acb", "ab", "bc"]),
        ("aa*aa", ["aaaa", "aa-aa"], ["aaa", "aa"]),
    ],
)
def test_a_star_stands_for_any_characters(pattern: str, fits: list[str], others: list[str]) -> None:
    assert [name for name in [*fits, *others] if matches(pattern, name)] == fits


@given(st.text("ab*", max_size=12), st.text("ab", max_size=16))
def test_it_matches_like_a_regular_expression(pattern: str, name: str) -> None:
    assert matches(pattern, name) == bool(re.fullmatch(pattern.replace("*", ".*"), name))


@pytest.mark.parametrize(
    ("words", "taken", "left"),
    [
        (["sms", "mail"], ["sms"], ["bulk"]),
        (["*", "!bulk"], ["sms", "bulks"], ["bulk"]),
        (["mail.*", "!*.bulk"], ["mail.a"], ["mail.bulk", "sms"]),
        (["mail.bulk", "mail.*", "!*.bulk"], ["mail.bulk"], ["mail.x.bulk"]),
        ([], [], ["sms"]),
    ],
)
def test_an_exclusion_takes_away_from_patterns_and_not_from_names(
    words: list[str], taken: list[str], left: list[str]
) -> None:
    assert [name for name in [*taken, *left] if takes(words, name)] == taken
