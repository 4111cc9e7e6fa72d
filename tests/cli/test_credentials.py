"""Tokens: where a command finds one, and that it goes to its own server only (S1, S11)."""

import stat
from pathlib import Path

import pytest

from rota import key_text
from rota.cli.credentials import Credentials, find_token, origin, token_for
from rota.cli.problems import UsageError
from rota.cli.settings import Setting
from rota.errors import AccessRefused
from tests.cli.conftest import Cli

TOKEN = key_text.write(bytes(range(key_text.ENTROPY_BYTES))).text
OTHER = key_text.write(bytes(range(1, key_text.ENTROPY_BYTES + 1))).text
SERVER = "http://host:8300"


@pytest.fixture(autouse=True)
def home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without any settings."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    for name in ("ROTA_TOKEN", "ROTA_TOKEN_FILE", "ROTA_LOG_FORMAT"):
        monkeypatch.delenv(name, raising=False)
    return folder


def environ(home: Path, **more: str) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(home / "config"), **more}


def test_the_first_place_counts(home: Path) -> None:
    (home / "a.txt").write_text(f" {TOKEN}\n")
    (home / "b.txt").write_text(OTHER)
    Credentials(environ(home)).put(SERVER, OTHER)
    found = find_token(SERVER, "--url", str(home / "a.txt"), environ(home, ROTA_TOKEN=OTHER))
    assert found == Setting(TOKEN, "--token-file")
    both = environ(home, ROTA_TOKEN=TOKEN, ROTA_TOKEN_FILE=str(home / "b.txt"))
    assert find_token(SERVER, "--url", None, both) == Setting(OTHER, "ROTA_TOKEN_FILE")
    variable = environ(home, ROTA_TOKEN=TOKEN)
    assert find_token(SERVER, "ROTA_URL", None, variable) == Setting(TOKEN, "ROTA_TOKEN")
    assert find_token(SERVER, "rota.toml", None, environ(home)) == Setting(OTHER, "rota login")
    assert find_token("http://host:8301", "--url", None, environ(home)) is None


def test_a_strange_file_redirects_a_command_but_never_a_token(home: Path) -> None:
    """http-and-cli, point 9: a token is sent to its own server only."""
    given = environ(home, ROTA_TOKEN=TOKEN)
    with pytest.raises(AccessRefused, match=r"set by rota\.toml.*rota login http://evil"):
        find_token("http://evil", "rota.toml", None, given)
    Credentials(given).put(SERVER, OTHER)
    assert find_token(SERVER, "rota.toml", None, given) == Setting(OTHER, "rota login")
    with pytest.raises(AccessRefused):
        find_token("http://host:8301", "pyproject.toml", None, given)
    assert find_token("http://evil", None, None, given) is not None, "the program's own address"


def test_kept_tokens_are_readable_to_their_owner_alone(home: Path) -> None:
    kept = Credentials(environ(home))
    kept.put("HTTP://Host:8300/", TOKEN)
    kept.put("https://host", OTHER)
    assert stat.S_IMODE(kept.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.path.parent.stat().st_mode) == 0o700
    assert (kept.get(SERVER), kept.get("https://host:443")) == (TOKEN, OTHER)
    assert kept.get("https://host:8300") is None, "not to another scheme"
    assert [path.name for path in kept.path.parent.iterdir()] == ["credentials.json"]
    assert kept.drop(SERVER)
    assert not kept.drop(SERVER)
    kept.path.chmod(0o644)
    with pytest.raises(UsageError, match="others can read"):
        kept.get(SERVER)


@pytest.mark.parametrize(
    "address", ["ftp://host", "http://", "http://me:secret@host", "http://host:x", "host:8300"]
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(UsageError):
        origin(address)


def test_a_token_that_was_copied_wrongly_is_told_before_it_is_sent(home: Path) -> None:
    (home / "a.txt").write_text(TOKEN[:-1] + ("a" if TOKEN[-1] != "a" else "b"))
    with pytest.raises(UsageError) as caught:
        find_token(SERVER, "--url", str(home / "a.txt"), environ(home))
    assert TOKEN[20:40] not in str(caught.value)
    with pytest.raises(UsageError, match="cannot be read"):
        find_token(SERVER, "--url", str(home / "none.txt"), environ(home))


def test_without_a_token_a_command_says_how_to_get_one(cli: Cli) -> None:
    with pytest.raises(AccessRefused, match="rota login http://host:8300"):
        token_for(SERVER, "--url")
    answer = cli("list", "--url", SERVER, "--json")
    assert answer.code == 4
    assert answer.problem["code"] == "forbidden"
    assert "rota login" in answer.problem["detail"]


def test_config_show_tells_every_setting_with_its_source_and_no_secret(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "rota.toml").write_text('url = "postgresql://rota:hunter2@db/rota"\n')
    shown = cli("config", "show")
    assert "hunter2" not in shown.out
    assert f"url\tpostgresql://rota:…@db/rota\t{home}/rota.toml" in shown.lines
    monkeypatch.setenv("ROTA_TOKEN", TOKEN)
    monkeypatch.setenv("ROTA_LOG_FORMAT", "json")
    told = cli("config", "show", "--url", SERVER, "--json").json
    assert told["url"] == {"value": SERVER, "source": "--url"}
    assert told["token"] == {"value": TOKEN[:18] + "…", "source": "ROTA_TOKEN"}
    assert told["log_format"] == {"value": "json", "source": "ROTA_LOG_FORMAT"}
    assert told["app"] == {"value": None, "source": "not set"}


def test_config_show_says_when_a_token_is_withheld(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "rota.toml").write_text('url = "http://evil"\n')
    monkeypatch.setenv("ROTA_TOKEN", TOKEN)
    shown = cli("config", "show")
    assert shown.code == 0
    assert "token\t\twithheld: the server is set by rota.toml" in shown.out
    assert TOKEN[20:40] not in shown.out
    assert cli("list").code == 4


def test_a_server_s_store_is_migrated_where_it_lies(cli: Cli) -> None:
    assert cli("migrate", "--url", SERVER).code == 2
