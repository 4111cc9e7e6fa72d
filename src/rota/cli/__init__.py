"""The command line: `rota COMMAND …` (docs/reference/cli.md).

Only the command that runs is imported, so that `rota --help` answers at once.
"""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rota.cli.problems import Exit, report

if TYPE_CHECKING:
    from cyclopts import App


class Command(NamedTuple):
    """A command: where it is written, how it is called, and what it does in a sentence."""

    path: str
    usage: str
    summary: str


COMMANDS = {
    "submit": Command(
        "rota.cli.submit:submit",
        "rota submit KIND [K=V | K:=JSON]... [OPTIONS]\n       rota submit [KIND] --batch FILE|-",
        "Store a task, or a file of tasks, durably.",
    ),
    "list": Command(
        "rota.cli.listing:list_tasks", "rota list [OPTIONS]", "List tasks, newest first."
    ),
    "show": Command(
        "rota.cli.show:show",
        "rota show ID [OPTIONS]",
        "Show a task: its timeline, attempts, errors, payload and result.",
    ),
    "cancel": Command(
        "rota.cli.change:cancel",
        "rota cancel ID... [OPTIONS]",
        "Cancel tasks that have not started.",
    ),
    "retry": Command(
        "rota.cli.change:retry",
        "rota retry ID... [OPTIONS]",
        "Run failed and scheduled tasks at once.",
    ),
    "worker": Command(
        "rota.cli.worker:worker",
        "rota worker [APP] [OPTIONS]",
        "Run the tasks of an app until told to stop.",
    ),
    "migrate": Command(
        "rota.cli.migrate:migrate",
        "rota migrate [OPTIONS]",
        "Bring the store's schema up to date.",
    ),
    "demo": Command(
        "rota.cli.demo:demo",
        "rota demo [OPTIONS]",
        "Send 200,000 messages, kill a worker meanwhile, and count what arrived.",
    ),
    "version": Command("rota.cli.version:version", "rota version [OPTIONS]", "Print the version."),
}

_HELP = """Rota runs tasks on time, fairly, and loses none.

A command explains itself, with examples: rota COMMAND --help"""

FLAGS = frozenset({"--json", "--no-color", "--quiet", "--verbose"})
VALUED = frozenset({"--url", "--app"})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; a mistake ends in one line on stderr."""
    words = command_first(list(sys.argv[1:] if arguments is None else arguments))
    given = words[: words.index("--")] if "--" in words else words
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
    for place, (name, command) in enumerate(COMMANDS.items()):
        help_ = None if name == chosen else command.summary
        usage = f"Usage: {command.usage}"
        app.command(command.path, name=name, help=help_, usage=usage, sort_key=place)
    return app


def command_first(words: list[str]) -> list[str]:
    """Return the words with the general options that precede the command moved behind it.

    >>> command_first(["--json", "--url", "sqlite:///a.db", "list", "--all"])
    ['list', '--json', '--url', 'sqlite:///a.db', '--all']
    """
    at = 0
    while at < len(words) and words[at].partition("=")[0] in FLAGS | VALUED:
        at += 2 if words[at] in VALUED else 1
    return [words[at], *words[:at], *words[at + 1 :]] if at < len(words) else words


def _run(words: list[str]) -> int:
    words = ["version"] if words == ["--version"] else words
    app = build(words[0] if words else "")
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
