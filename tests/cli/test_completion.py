"""`rota completion`: a script for a shell (http-and-cli §9)."""

import shutil
import subprocess
from pathlib import Path

import pytest

from rota.cli.problems import Exit
from tests.cli.conftest import Cli

ASKED = {
    "rota li": {"list", "limits"},
    "rota queues res": {"resume", "reset"},
    "rota list --sta": {"--state"},
    "rota list --state fai": {"failed"},
    "rota server --metr": {"--metrics-port", "--metrics-host"},
    "rota completion f": {"fish"},
}
"""What is typed so far, and what may follow."""


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_each_shell_has_its_own_script(cli: Cli, shell: str) -> None:
    told = cli("completion", shell)
    assert told.code == Exit.DONE, told.err
    assert "dead-letters" in told.out
    assert "--metrics-port" in told.out


def test_bash_completes_commands_options_and_words(cli: Cli) -> None:
    """As bash itself asks: with what is typed, word by word."""
    script = cli("completion", "bash").out
    asking = [
        f"COMP_WORDS=({typed}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); COMPREPLY=(); _rota; "
        'echo "${COMPREPLY[*]}"'
        for typed in ASKED
    ]
    done = subprocess.run(
        [shutil.which("bash") or "bash", "--norc", "-c", "\n".join([script, *asking])],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = [{*line.split()} for line in done.stdout.splitlines()]
    assert dict(zip(ASKED, found, strict=True)) == ASKED


def test_zsh_finds_its_function_by_the_name_of_the_file(cli: Cli) -> None:
    """The help says `_rota`: zsh calls the function of that name and no other."""
    script = cli("completion", "zsh").out
    assert "\n_rota() {" in script
    assert "_cyclopts" not in script


@pytest.mark.parametrize(
    ("start", "registered"),
    [("autoload -Uz _rota; _rota", ""), ("source ./_rota; _rota", "compdef _rota rota\n")],
)
@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh")
def test_zsh_completes_from_a_file_and_from_a_sourced_one(
    cli: Cli, tmp_path: Path, start: str, registered: str
) -> None:
    (tmp_path / "_rota").write_text(cli("completion", "zsh").out)
    fakes = 'compdef() { print compdef "$@" }; _arguments() { state=cmds }; '
    fakes += '_describe() { print -l "${(@P)${@[-1]}}" }; fpath=(. $fpath); '
    done = subprocess.run(
        [shutil.which("zsh") or "zsh", "-f", "-c", fakes + start],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.startswith(registered + "submit:")
    assert "\nworker:Run the tasks" in done.stdout


def test_another_shell_is_refused(cli: Cli) -> None:
    told = cli("completion", "tcsh")
    assert told.code == Exit.USAGE
    assert "bash" in told.err
