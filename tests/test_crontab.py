"""A crontab is read as cron reads it, line by line; what cannot be taken says why (R6.8)."""

import pytest

from rota.crontab import Entry, has_user_column, names, payload, read
from rota.registry import check_name


def only(text: str, *, user_column: bool = False) -> Entry:
    """The one entry of a crontab that has nothing wrong in it."""
    crontab = read(text, user_column=user_column)
    assert crontab.bad == ()
    (entry,) = crontab.entries
    return entry


TIMES = [
    ("0 5 * * * x", "0 5 * * *"),
    ("  09,39 *\t* * *   x", "09,39 * * * *"),
    ("5-55/10 7-23 1,15 jan-mar MON-fri x", "5-55/10 7-23 1,15 jan-mar MON-fri"),
    ("@daily x", "@daily"),
    ("@Midnight\tx", "@midnight"),
    ("-*/15 * * * * x", "*/15 * * * *"),
    ("0 5 * * * x\r", "0 5 * * *"),
]


@pytest.mark.parametrize(("line", "expression"), TIMES)
def test_the_times_of_a_line_are_its_first_five_words_or_a_name(line: str, expression: str) -> None:
    entry = only(line)

    assert (entry.expression, entry.command) == (expression, "x")


def test_comments_and_empty_lines_are_passed_over_and_counted() -> None:
    entry = only("# a comment\n\n   \t\n  # another\n0 5 * * * a # no comment, as in cron\n")

    assert (entry.number, entry.command) == (5, "a # no comment, as in cron")


SETTINGS = [
    ("A=b", "A", "b"),
    ("  A = b c  ", "A", "b c"),
    ('A="  b  "', "A", "  b  "),
    ("A=' b'", "A", " b"),
    ("'A'=\"it's\"", "A", "it's"),
    ("A=", "A", ""),
    ('A=""', "A", ""),
    ("A=b # c", "A", "b # c"),
    ("A=$B:~/c", "A", "$B:~/c"),
    ('A=b "c"', "A", 'b "c"'),
    ("A=b=c", "A", "b=c"),
]


@pytest.mark.parametrize(("line", "name", "value"), SETTINGS)
def test_a_setting_is_read_as_cron_reads_it(line: str, name: str, value: str) -> None:
    assert only(f"{line}\n0 5 * * * x").env == {name: value}


def test_settings_hold_from_their_line_on() -> None:
    first, second = read(
        "0 1 * * * x\nPATH=/a\nPATH=/b\nCRON_TZ=Europe/Berlin\n0 2 * * * x", user_column=False
    ).entries

    assert (first.env, first.tz) == ({}, "")
    assert (second.env["PATH"], second.tz) == ("/b", "Europe/Berlin")
    assert payload(second) == {"shell": "x", "env": {"PATH": "/b"}}


def test_what_cron_does_with_a_setting_and_we_do_not_is_said() -> None:
    text = 'MAILTO=root\nMAILTO=""\nTZ=Asia/Tokyo\nLOGNAME=me\n0 5 * * * x'
    crontab = read(text, user_column=False)

    assert [(remark.number, remark.text.partition(":")[0]) for remark in crontab.remarks] == [
        (1, "MAILTO"),
        (3, "TZ"),
        (4, "LOGNAME"),
    ]
    (entry,) = crontab.entries
    assert (entry.tz, entry.env) == ("", {"MAILTO": "", "TZ": "Asia/Tokyo"})


COMMANDS = [
    ("echo a", "echo a", None),
    ("a  b\t c ", "a  b\t c ", None),
    (r"[ $(date +\%d) -le 7 ] && a", "[ $(date +%d) -le 7 ] && a", None),
    ("mail -s hi joe%Joe,%%Where?%", "mail -s hi joe", "Joe,\n\nWhere?\n"),
    ("cat%one", "cat", "one\n"),
    ("cat%", "cat", ""),
    (r"cat%50\% of%all", "cat", "50% of\nall\n"),
    (r"printf 'a\nb\\' \! x\%", r"printf 'a\nb\\' \! x%", None),
    (r"echo \\%x", r"echo \\", "x\n"),
    ("echo x\\", "echo x\\", None),
]


@pytest.mark.parametrize(("written", "command", "stdin"), COMMANDS)
def test_a_percent_sign_begins_standard_input_and_then_ends_its_lines(
    written: str, command: str, stdin: str | None
) -> None:
    entry = only(f"0 5 * * * {written}")

    assert (entry.command, entry.stdin) == (command, stdin)


def test_a_user_stands_between_the_times_and_the_command() -> None:
    for gap in (" ", "\t", "   \t "):
        entry = only(f"17 *\t* * *\troot{gap}cd / && run-parts /etc/x", user_column=True)
        assert (entry.user, entry.command) == ("root", "cd / && run-parts /etc/x")
    assert only("@daily www-data x", user_column=True).user == "www-data"


def test_a_payload_runs_the_command_as_cron_would() -> None:
    text = "SHELL=/bin/bash\nHOME=/srv/app\n0 5 * * * app tar c .%yes"

    assert payload(only(text, user_column=True)) == {
        "shell": "tar c .",
        "env": {"SHELL": "/bin/bash", "HOME": "/srv/app"},
        "cwd": "/srv/app",
        "stdin": "yes\n",
        "user": "app",
    }


BAD = [
    ("@reboot x", False, "@reboot is no time that comes again"),
    ("@sometimes x", False, "'@sometimes' is unknown; there are @yearly"),
    ("0 5 * *", False, "must be five fields for the time, and a command"),
    ("0 5 * * *", False, "must be five fields for the time, and a command"),
    ("@daily", False, "must be five fields for the time, and a command"),
    ("0 5 * * * root", True, "must be five fields for the time, a user, and a command"),
    ("0 5 * * * [ -x /a ] && /a", True, "'[' is no user; if there is no such column"),
    ("0 5 * * * %x", False, "has no command before its first %"),
    ('A="b', False, 'the value of A begins with " and must end with the next one'),
    ('A="b" c', False, 'the value of A begins with "'),
    ("A='", False, "the value of A begins with '"),
    ("5=3", False, "'5' is no name of a variable"),
    ("\udcff 5 * * * x", False, "is not UTF-8"),
    ("0 5 * * * x\0", False, "has a NUL in it"),
]


@pytest.mark.parametrize(("line", "user_column", "problem"), BAD)
def test_a_line_that_cannot_be_taken_is_named_and_the_others_are_taken(
    line: str, user_column: bool, problem: str
) -> None:
    crontab = read(f"\n{line}\n0 6 * * * root ok", user_column=user_column)

    ((number, said),) = [(bad.number, bad.problem) for bad in crontab.bad]
    assert (number, said[: len(problem)]) == (2, problem)
    assert [entry.number for entry in crontab.entries] == [3]


def test_only_what_is_understood_may_have_its_schedule_taken_away() -> None:
    crontab = read("@reboot x\n0 5 * *", user_column=False)

    assert [bad.understood for bad in crontab.bad] == [True, False]


COLUMNS = [
    ("/etc/crontab", "", True),
    ("/srv/x/etc/cron.d/php", "", True),
    ("/srv/x/crontab", "0 5 * * * x y", False),
    ("/srv/x/mine", "0 5 * * * root x\n@daily mail y", True),
    ("/srv/x/mine", "0 5 * * * mail -s x y", False),
    ("/srv/x/mine", "0 5 * * * root x\n0 6 * * * test -x y", False),
    ("/srv/x/mine", "0 5 * * * root", False),
    ("/srv/x/mine", "A=root x", False),
]


@pytest.mark.parametrize(("path", "text", "expected"), COLUMNS)
def test_a_column_of_users_is_found_by_the_place_of_the_file_or_by_its_lines(
    path: str, text: str, expected: bool
) -> None:
    assert has_user_column(path, text, {"mail", "root"}) is expected


PROGRAMS = [
    ("/usr/bin/backup --all", "backup"),
    ("[ -x /usr/lib/x/clean ] && if [ ! -d /run ]; then /usr/lib/x/clean; fi", "clean"),
    ("test -e /run/x || MODE=1 nice -n10 /sbin/scrub -A", "scrub"),
    ("command -v sa1 > /dev/null && sa1 1 1", "sa1"),
    ("cd / && run-parts --report /etc/cron.hourly", "run-parts"),
    ("if [ $(date +%d) -le 7 ]; then /usr/share/check.array; fi", "check-array"),
    ("'quoted thing' x", "x"),
    ("[ -x y ]", "command"),
    ("ß", "command"),
]


@pytest.mark.parametrize(("command", "program"), PROGRAMS)
def test_a_schedule_is_named_after_the_file_and_the_program(command: str, program: str) -> None:
    (name,) = names(
        "/etc/cron.d/my.file", [only(f"0 5 * * * {command.replace('%', chr(92) + '%')}")]
    )

    assert name.startswith(f"my-file.{program}-")
    assert check_name(name, "name") == name


def test_names_stay_as_long_as_the_command_does() -> None:
    before = read("0 5 * * * a\n0 6 * * * b\n0 7 * * * a", user_column=False).entries
    after = read("X=y\n\n1 6 * * * b\n9 5 * * * a\n0 8 * * * c", user_column=False).entries
    first, second, third = names("/x", before)

    assert names("/x", after)[:2] == [second, first]
    assert third == f"{first}-2"
    assert len({*names("/x", before), *names("/y/x", before), *names("/x", after)}) == 7


def test_the_longest_name_is_a_name() -> None:
    entry = only(f"0 5 * * * /{'p' * 300}")

    for name in names("/" + "f" * 300, [entry] * 12):
        check_name(name, "name")
