"""The command line: `rota COMMAND …` (docs/reference/cli.md).

Only the command that runs is imported, so that `rota --help` answers at once.
"""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rota.cli.commands import COMMANDS, NOUNS
from rota.cli.people import mind
from rota.cli.problems import Exit, report

if TYPE_CHECKING:
    from cyclopts import App


__all__ = ["COMMANDS", "NOUNS", "build", "command_first", "main", "named"]

_HELP = """Rota runs tasks on time, fairly, and loses none.

A command explains itself, with examples: rota COMMAND --help"""

FLAGS = frozenset({"--json", "--no-color", "--no-input", "--quiet", "--verbose"})
VALUED = frozenset({"--url", "--app", "--token-file"})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; a mistake ends in one line on stderr."""
    words = command_first(list(sys.argv[1:] if arguments is None else arguments))
    given = words[: words.index("--")] if "--" in words else words
    mind("--no-input" in given)
    try:
        _speak_any_text()
        code = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read has gone. Python would flush once more at its end and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.CLOSED_PIPE
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except Exception as error:
        return report(error, as_json="--json" in given, verbose="--verbose" in given)
    return code


def build(chosen: str = "") -> "App":
    """Return the parser of all commands, none of them imported.

    `chosen` is the one that is about to run: it brings its own help.
    """
    from cyclopts import App, Parameter

    app = App(
        name="rota",
        help=_HELP,
        help_format="plaintext",
        version_flags=[],
        # Its own ways of ending would exit 1 on a wrong option and take answers for exit codes.
        exit_on_error=False,
        print_error=False,
        suppress_keyboard_interrupt=False,
        result_action="return_value",
        default_parameter=Parameter(negative=(), show_default=False),
    )
    nouns: dict[str, App] = {}
    for place, (name, command) in enumerate(COMMANDS.items()):
        noun, _, verb = name.rpartition(" ")
        if noun and noun not in nouns:
            nouns[noun] = App(name=noun, help=NOUNS[noun], sort_key=place)
            app.command(nouns[noun])
        help_ = None if name == chosen else command.summary
        usage = f"Usage: {command.usage}"
        parent = nouns[noun] if noun else app
        parent.command(command.path, name=verb, help=help_, usage=usage, sort_key=place)
    return app


def command_first(words: list[str]) -> list[str]:
    """Return the words with the general options that precede the command moved behind it.

    >>> command_first(["--json", "--url", "sqlite:///a.db", "list", "--all"])
    ['list', '--json', '--url', 'sqlite:///a.db', '--all']
    """
    front: list[str] = []
    command: list[str] = []
    at = 0
    while at < len(words) and (len(command) == 0 or (command[0] in NOUNS and len(command) == 1)):
        size = 0
        if words[at].partition("=")[0] in FLAGS | VALUED:
            size = 2 if words[at] in VALUED else 1
            front += words[at : at + size]
        else:
            command.append(words[at])
        at += size or 1
    return [*command, *front, *words[at:]]


def named(words: Sequence[str]) -> str:
    """Return the name of the command that the words begin with.

    >>> named(["dead-letters", "list", "--all"]), named(["list"])
    ('dead-letters list', 'list')
    """
    return " ".join(words[: 2 if words[:1] and words[0] in NOUNS else 1])


def _run(words: list[str]) -> int:
    words = ["version"] if words == ["--version"] else words
    app = build(named(words))
    if "--no-color" in words:
        from rich.console import Console

        app.console = Console(no_color=True)
    code = app(words)
    return Exit.DONE if code is None else code


def _speak_any_text() -> None:
    # A terminal or a file that cannot hold a letter gets its code, not a traceback.
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
