"""Where the store and the app come from: option, environment, file, in this order."""

import subprocess
from pathlib import Path

import pytest

from rota.cli.credentials import OWN_WORDS
from rota.cli.problems import Exit
from rota.cli.settings import FILE, OWN_FILE, Setting, find_settings
from rota.errors import ConfigurationError
from tests.cli.conftest import ROTA, Cli


def found(folder: Path, url: str | None = None, **environ: str) -> Setting | None:
    """The address that is in force."""
    environ = {"XDG_CONFIG_HOME": str(folder / ".config")} | environ
    return find_settings(url=url, environ=environ, here=folder).url


def test_a_person_s_own_file_counts_where_nothing_else_says_anything(folder: Path) -> None:
    """Http-and-cli §9: what holds everywhere sends no command of a project elsewhere."""
    own = folder / ".config" / "rota"
    own.mkdir(parents=True)
    (own / "config.toml").write_text('url = "https://rota.example"')
    assert found(folder) == Setting("https://rota.example", "config.toml", own)
    assert found(folder, ROTA_URL="sqlite:///env.db") == Setting("sqlite:///env.db", "ROTA_URL")
    assert found(folder, ROTA_APP="school:app") is None
    (folder / "rota.toml").write_text('app = "school:app"')
    assert found(folder) is None
    (folder / "rota.toml").unlink()
    (own / "config.toml").write_text('colour = "red"')
    with pytest.raises(ConfigurationError, match=r"config\.toml: 'colour' is not a setting"):
        found(folder)


def test_a_token_goes_with_an_address_of_one_s_own_file(folder: Path) -> None:
    """S1: it is the same person's; a file in a project may be anybody's."""
    assert OWN_FILE in OWN_WORDS
    assert FILE not in OWN_WORDS


def test_the_option_comes_first_then_the_environment_then_the_file(folder: Path) -> None:
    assert found(folder) is None
    (folder / "rota.toml").write_text('url = "postgresql://file"')
    assert found(folder) == Setting("postgresql://file", "rota.toml", folder)
    assert found(folder, ROTA_URL="sqlite:///env.db") == Setting("sqlite:///env.db", "ROTA_URL")
    assert found(folder, "sqlite:///a.db", ROTA_URL="sqlite:///env.db") == Setting(
        "sqlite:///a.db", "--url"
    )


def test_an_empty_variable_is_not_set(folder: Path) -> None:
    assert found(folder, ROTA_URL="") is None


def test_the_file_is_looked_for_upward_to_the_root_of_the_repository(folder: Path) -> None:
    below = folder / "a" / "b"
    below.mkdir(parents=True)
    (folder / "rota.toml").write_text('url = "postgresql://root"')
    assert found(below) == Setting("postgresql://root", "rota.toml", folder)

    (below / ".git").mkdir()
    assert found(below) is None


def test_pyproject_serves_as_well(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.rota]\napp = "school:app"\n')
    assert find_settings(environ={}, here=folder).app == Setting(
        "school:app", "pyproject.toml", folder
    )


def test_a_file_beside_the_settings_is_found_from_below(folder: Path) -> None:
    below = folder / "below"
    below.mkdir()
    (folder / "rota.toml").write_text('url = "sqlite:///rota.db"')

    setting = found(below)

    assert setting is not None
    assert setting.value == f"sqlite:///{folder}/rota.db"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ulr = 'x'", "'ulr' is not a setting; did you mean 'url'?"),
        ("nothing = 1", "'nothing' is not a setting; there are url and app"),
        ("url = 7", "url must be text, not 7"),
        ("url = ", "is not TOML"),
    ],
)
def test_a_wrong_file_is_named(folder: Path, text: str, said: str) -> None:
    (folder / "rota.toml").write_text(text)

    with pytest.raises(ConfigurationError, match=r"rota\.toml") as refused:
        found(folder)
    assert said in str(refused.value)


APPS = [
    ("nope:app", "there is no module 'nope' in "),
    ("school", "write module:attribute, for instance school:app"),
    ("", "write module:attribute, for instance app:app"),
    ("school.py:app", "write it as school:app"),
    ("./school.py", "write it as school:app"),
    ("school:ap", "module 'school' has no attribute 'ap'; its apps: app"),
    ("school:number", "school:number is of type int, not a Rota(…); its apps: app"),
    ("broken:app", "module 'broken' fails when it is imported: ZeroDivisionError"),
    ("needy:app", "module 'needy' fails when it is imported: ModuleNotFoundError"),
]


@pytest.mark.parametrize(("path", "said"), APPS)
def test_an_app_that_cannot_be_had_is_exit_code_2(
    rota: Cli, school: Path, path: str, said: str
) -> None:
    (school / "broken.py").write_text("1 / 0")
    (school / "needy.py").write_text("import not_installed")

    answer = rota("submit", "report", "day=x", "--app", path)

    assert answer.code == Exit.USAGE
    assert said in answer.err
    assert answer.err.count("\n") == 1


def test_an_app_from_the_environment_is_blamed_on_it(
    rota: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROTA_APP", "nope:app")

    assert "(the app is set by ROTA_APP)" in rota("list").err


def test_the_app_brings_its_own_address(rota: Cli, school: Path) -> None:
    rota.submit("report", "day=x")

    assert (school / "school.db").exists()
    assert len(rota("list").lines) == 1


def test_an_address_beside_the_app_counts_before_its_own(
    rota: Cli, school: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ROTA_URL", "sqlite:///other.db")

    rota.submit("report", "day=x")

    assert (school / "other.db").exists()
    assert not (school / "school.db").exists()
    assert "the app itself uses sqlite:///school.db" in caplog.text


def test_an_app_is_found_from_a_folder_below(
    rota: Cli, school: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (school / "below").mkdir()
    monkeypatch.chdir(school / "below")

    assert rota("submit", "report", "day=x").code == 0


@pytest.mark.slow
def test_a_postgres_store_is_migrated_by_hand(
    rota: Cli, school: Path, bare_postgres_url: str
) -> None:
    """R8.6: and whoever forgets it is told, in one line."""
    for words in (["list"], ["submit", "report", "day=x"]):
        answer = rota(*words, "--url", bare_postgres_url)
        assert (answer.code, answer.out) == (Exit.FAILED, "")
        assert "run `rota migrate`" in answer.err
    for processes in ("1", "2"):
        words = ["worker", "--processes", processes, "--url", bare_postgres_url]
        done = subprocess.run(
            [*ROTA, *words], check=False, cwd=school, capture_output=True, timeout=60
        )
        assert done.returncode == Exit.FAILED
        assert b"run `rota migrate`" in done.stderr.splitlines()[-1]

    assert rota("migrate", "--url", bare_postgres_url).out.startswith("applied ")
    assert rota("submit", "report", "day=x", "--url", bare_postgres_url).code == 0
    assert len(rota("list", "--url", bare_postgres_url).lines) == 1


def test_migrating_says_what_it_applied(rota: Cli) -> None:
    """R8.6."""
    first = rota("migrate")
    again = rota("migrate")

    assert (first.code, again.code) == (0, 0)
    assert all(line.startswith("applied ") for line in first.lines)
    assert first.lines
    assert again.out == "up to date\n"
    assert rota("migrate", "--json").json == {"applied": []}
