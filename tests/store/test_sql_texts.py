"""Statements that stand in full in their files, though most of one is another's.

A block is what the server gets, so that it can be read and tried as it stands. Where two of them
have to be the same in part, these tests hold them to it.
"""

import re

import pytest

from rota.store.sqlfiles import blocks

ALIVE = """select from rota.session
            where id = :session
                and closed_at is null
                and lease_until > :now"""
OF_THIS_NUMBER = """
        and claimed = :number
        and claim_open
    for share"""


def test_a_take_of_a_numbered_claim_is_a_take_apart_from_the_number() -> None:
    """Design §8: what a remote worker is handed is what any worker would be."""
    mine, chosen = _block("take_numbered").split("\n),\n", 1)

    assert ALIVE in _block("take")
    assert _block("take").removeprefix("with ") == chosen.replace("select from mine", ALIVE)
    assert _words(mine) == _words(
        "with mine as materialized ( "
        + ALIVE.replace("select from", "select id from")
        + OF_THIS_NUMBER
    )


def test_both_takes_of_a_numbered_claim_ask_for_the_same_number() -> None:
    one, both = _block("take_numbered"), _block("take_numbered_limited")

    assert both.split("\n)\n")[0] == one.split("\n),\n")[0]


@pytest.mark.parametrize("name", ["take", "take_numbered"])
def test_what_is_taken_and_what_is_held_have_the_same_columns(name: str) -> None:
    taken = _block(name).rpartition("returning")[2]

    assert _words(taken) == _words(_between(_block("held"), "select", "from"))


def test_in_a_file_what_is_taken_and_what_is_held_are_the_same_document() -> None:
    taken, held = (
        _between(blocks("sqlite")[name], "json_group_array", "from") for name in ("taken", "held")
    )

    assert _words(taken).replace("task.", "") == _words(held)


def _block(name: str) -> str:
    return blocks("postgres")[name]


def _between(text: str, first: str, last: str) -> str:
    found = re.search(rf"{first}(.*?)\n{last}", text, re.DOTALL)
    assert found
    return found[1]


def _words(text: str) -> str:
    return " ".join(text.split())
