"""The demonstration from its beginning to its report."""

import asyncio
import sys

import msgspec

from rota.demo.audit import Audit
from rota.demo.books import Books
from rota.demo.course import Course
from rota.demo.live import live_for, print_report
from rota.demo.place import folder, store, store_name
from rota.demo.report import Report, problems, rows
from rota.demo.settings import DemoSettings
from rota.demo.tasks import CHUNK, PART, PART_SECONDS
from rota.demo.workers import CONCURRENCY, COUNT
from rota.times import show_duration


def run_demo(settings: DemoSettings) -> int:
    """Run the demonstration and print its report; 1 if anything was lost or came twice, else 0.

    `ConfigurationError` says what it lacks. Nothing is left behind unless a directory is named.
    """
    with (
        live_for(json=settings.json, students=settings.students) as live,
        folder(settings.directory) as directory,
    ):
        live.say(introduction(settings))
        with store(settings.store, directory) as url:
            course = Course(settings, directory, url, live)
            found, books = asyncio.run(course.run())
    return conclude(course.report(found), found, books, json=settings.json)


def conclude(report: Report, found: Audit, books: Books, *, json: bool) -> int:
    """Print the report and return the exit code: 1 if anything is as it must not be."""
    wrong = problems(report, found, books)
    if json:
        sys.stdout.write(msgspec.json.encode(report).decode() + "\n")
        sys.stderr.writelines(f"rota demo: {problem}\n" for problem in wrong)
    else:
        print_report(rows(report, found, books), wrong)
    return 1 if wrong else 0


def introduction(settings: DemoSettings) -> str:
    """Return what the demo is about to do, and what of it is made up."""
    tasks = -(-settings.students // CHUNK)
    return (
        f"Rota sends {settings.students:,} results as {tasks:,} tasks of {CHUNK} on "
        f"{store_name(settings.store)},\n"
        f"with {COUNT} worker processes of {CONCURRENCY} handlers each; one of them will be killed."
        f"\nMade up for this: the provider takes about {PART_SECONDS * 1000:.0f} ms for {PART} "
        f"messages, and a dead\nworker is missed after {show_duration(settings.lease)}, "
        "not after the usual 30s.\n"
    )
