"""`rota keys` and `rota audit`: the first key is made here, straight in the store (S12, S17)."""

import re
from pathlib import Path

import pytest

from rota import Rota, key_text
from rota.cli.problems import Exit
from tests.cli.conftest import Cli

KEY = re.compile(r"rota_[0-9A-Za-z]{12}_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}\n")


def test_a_key_stands_alone_on_stdout(rota: Cli, store: Rota) -> None:
    """S12: so it can go into a file; what a person wants to know is on stderr."""
    made = rota("keys", "create", "first", "--role", "admin")

    assert made.code == Exit.DONE, made.err
    assert KEY.fullmatch(made.out)
    (key,) = store.keys.list()
    written = key_text.read(made.out.strip())
    assert written is not None
    assert (key.id, key.secret_hash) == (written.id, written.secret_hash)
    assert "It is not shown again" in made.err
    assert written.secret not in made.err


def test_a_key_is_bound_to_what_is_said(rota: Cli, store: Rota) -> None:
    """R8.5."""
    made = rota(
        "keys", "create", "sender", "--role", "worker", "--role", "read", "--tenant", "board",
        "--queue", "sms", "--queue", "mail", "--no-payloads", "--expires", "90d", "--json",
    )  # fmt: skip

    assert made.code == Exit.DONE, made.err
    (key,) = store.keys.list()
    assert made.json["roles"] == ["worker", "read"]
    assert (made.json["tenant"], made.json["queues"]) == ("board", ["sms", "mail"])
    assert made.json["payloads"] is False
    assert key.expires_at == key.created_at + 90 * 86_400_000_000
    assert key_text.read(made.json["key"]) is not None


WRONG = {
    "no role": (),
    "a role that is none": ("--role", "god"),
    "an expiry that has passed": ("--role", "read", "--expires", "2020-01-01T00:00Z"),
    "an expiry that is none": ("--role", "read", "--expires", "soon"),
    "a queue that is none": ("--role", "read", "--queue", "a/b"),
}


@pytest.mark.parametrize("options", WRONG.values(), ids=WRONG)
def test_what_cannot_be_is_refused_and_nothing_made(
    rota: Cli, store: Rota, options: tuple[str, ...]
) -> None:
    """R1.6."""
    refused = rota("keys", "create", "wrong", *options)

    assert refused.code == Exit.USAGE
    assert refused.out == ""
    assert store.keys.list() == []


@pytest.mark.parametrize(
    "words",
    [("keys", "create", "first", "--role", "admin"), ("webhooks", "create", "https://a.example")],
)
def test_nothing_is_made_in_a_store_that_nobody_chose(
    cli: Cli, school: Path, words: tuple[str, ...]
) -> None:
    """A key in a new `rota.db` would open no server; with an app, the store is the app's."""
    (school / "rota.toml").unlink()
    refused = cli(*words)
    assert refused.code == Exit.UNREACHABLE
    assert "--url or --app" in refused.err
    assert not (school / "rota.db").exists()

    assert cli(*words, "--app", "school:app").code == Exit.DONE
    assert (school / "school.db").exists()


def test_keys_are_listed_without_their_secrets(rota: Cli) -> None:
    """S11, S12."""
    secret = rota("keys", "create", "first", "--role", "admin").out.strip()
    other = rota("keys", "create", "other", "--role", "admin").out.strip()
    rota("keys", "revoke", other)

    listed = rota("keys", "list")
    every = rota("keys", "list", "--all", "--json")

    assert [line.split("\t")[1:6] for line in listed.lines] == [["first", "admin", "", "", "live"]]
    assert {one["name"]: one["state"] for one in every.json} == {
        "first": "live",
        "other": "revoked",
    }
    for text in (listed.out, every.out):
        assert secret[18:61] not in text
        assert "secret" not in text


def test_the_last_admin_is_not_revoked(rota: Cli, store: Rota) -> None:
    """R8.5: exit 5, and what to do first; an id that is none is exit 3."""
    rota("keys", "create", "first", "--role", "admin")
    (key,) = store.keys.list()

    refused = rota("keys", "revoke", key.id)
    assert refused.code == Exit.CONFLICT
    assert "rota keys create" in refused.err
    assert rota("keys", "revoke", "nobody").code == Exit.NOT_FOUND
    assert rota("keys", "revoke").code == Exit.USAGE

    rota("keys", "create", "second", "--role", "admin")
    assert rota("keys", "revoke", key.id).out == f"{key.id}\trevoked\n"


def test_what_is_changed_straight_in_the_store_is_on_record(rota: Cli, store: Rota) -> None:
    """S17."""
    secret = rota("keys", "create", "first", "--role", "admin").out.strip()
    rota("keys", "create", "second", "--role", "admin")
    (_, first) = store.keys.list()
    rota("keys", "revoke", first.id)

    listed = rota("audit", "list", "--json")
    revoked = rota("audit", "list", "--action", "key.revoke")

    assert [one["action"] for one in listed.json] == ["key.revoke", "key.create", "key.create"]
    assert {one["actor"]["via"] for one in listed.json} == {"cli"}
    assert [line.split("\t")[4] for line in revoked.lines] == [first.id]
    assert secret not in listed.out
