"""`rota completion`: a script for a shell (http-and-cli §9)."""

import shutil
import subprocess

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


def test_another_shell_is_refused(cli: Cli) -> None:
    told = cli("completion", "tcsh")
    assert told.code == Exit.USAGE
    assert "bash" in told.err
