"""Cases of the areas cron-parse, cron-never, dst and tz that name slots, with their exact values.

A line: number, expression, zone, start, slots after it, options. A start without Z is a local time
of the zone; slots are UTC; what a slot leaves out is as in the one before it. `[G]` marks the ones
that stand for a local time that does not exist; with gap = skip they do not run.
"""

import re
from typing import NamedTuple

PARSE = """
B001 | 0 8 * * FRI-MON | UTC | 2024-11-04T09:00Z | 2024-11-08T08:00 11-09 11-10 11-11 11-15
B002 | 0 22-2 * * *    | UTC | 2026-07-02T21:00Z |
     2026-07-02T22:00 23:00 07-03T00:00 01:00 02:00 22:00
B002 | 0 22-2/2 * * *  | UTC | 2026-07-02T21:00Z | 2026-07-02T22:00 07-03T00:00 02:00 22:00
B004 | 0 0 * * 7-1/2   | UTC | 2026-08-17T00:00Z | 2026-08-23T00:00 08-30
B004 | 0 0 * * 7-3/2   | UTC | 2026-08-17T00:00Z | 2026-08-18T00:00 08-23 08-25 08-30
B005 | 0 0 * * sat-sun | UTC | 2025-03-13T12:00Z | 2025-03-15T00:00 03-16 03-22 03-23
B007 | 0 0 * * 6,7     | UTC | 2016-03-30T00:00Z | 2016-04-02T00:00 04-03 04-09 04-10
B008 | 0 9 * * SAT-MON | UTC | 2017-08-29T00:00Z | 2017-09-02T09:00 09-03 09-04 09-09
B010 | 5/15 * * * *    | UTC | 2026-07-09T10:00Z | 2026-07-09T10:05 10:20 10:35 10:50 11:05
B010 | 0 2/6 * * *     | UTC | 2026-07-09T00:00Z | 2026-07-09T02:00 08:00 14:00 20:00 07-10T02:00
B011 | 5/2 * * * *     | UTC | 2020-05-20T00:50Z | 2020-05-20T00:51 00:53 00:55 00:57 00:59 01:05
B013 | */7 * * * *     | UTC | 2024-01-01T00:50Z | 2024-01-01T00:56 01:00 01:07 01:14
B013 | 0 0 * * */5     | UTC | 2024-01-01T00:50Z | 2024-01-05T00:00 01-07 01-12 01-14
B014 | 0 0 12 1 * *    | UTC | 2024-01-01T12:00Z | 2024-02-01T12:00 03-01 04-01 | seconds
B014 | */20 0 12 1 * * | UTC | 2024-01-01T12:00Z |
     2024-01-01T12:00:20 12:00:40 02-01T12:00 | seconds
B016 | 30 6 * * *      | UTC | 2018-06-19T10:31Z | 2018-06-20T06:30 06-21
B020 | 0 5 LW * *      | UTC | 2023-10-01T00:00Z |
     2023-10-31T05:00 11-30 12-29 2024-01-31 02-29 03-29
B022 | 0 9 31W * *     | UTC | 2025-01-01T00:00Z |
     2025-01-31T09:00 03-31 05-30 07-31 08-29 10-31 12-31 2026-01-30
B022 | 0 9 30W * *     | UTC | 2025-01-01T00:00Z |
     2025-01-30T09:00 03-31 04-30 05-30 06-30 07-30 08-29 09-30 10-30 11-28 12-30 2026-01-30
B023 | 0 12 * * 2#3    | UTC | 2026-01-01T00:00Z | 2026-01-20T12:00 02-17 03-17 04-21 05-19 06-16
B023 | 0 12 * * 5#5    | UTC | 2026-01-01T00:00Z | 2026-01-30T12:00 05-29 07-31 10-30 2027-01-29
B023 | 0 12 * * 5L     | UTC | 2026-01-01T00:00Z | 2026-01-30T12:00 02-27 03-27 04-24 05-29 06-26
B025 | 0 9 1-31 * 1    | UTC | 2026-05-01T00:00Z | 2026-05-01T09:00 05-02 05-03
B026 | 0 0 1-31 * 4    | UTC | 2024-12-01T00:00Z | 2024-12-02T00:00 12-03 12-04
B026 | 0 0 1-31 * 4    | UTC | 2024-12-01T00:00Z | 2024-12-05T00:00 12-12 12-19 | both_days
B028 | 0 0 * * */2     | UTC | 2026-01-02T00:00Z | 2026-01-03T00:00 01-04 01-06 01-08 01-10 01-11
"""

NEVER = """
B034 | 15 22 29 2 *    | UTC | 2024-02-29T00:00Z | 2020-02-29T22:15 2016-02-29 | backwards
B035 | 0 0 29 2 *      | UTC | 2096-03-01T00:00Z | 2104-02-29T00:00
B035 | 0 0 29 2 1      | UTC | 2072-03-01T00:00Z | 2112-02-29T00:00 | both_days
B037 | 0 2 29 2 0      | UTC | 2018-05-14T00:00Z |
     2019-02-03T02:00 02-10 02-17 02-24 2020-02-02 02-09 02-16 02-23 02-29
B037 | 0 2 29 2 0      | UTC | 2018-05-14T00:00Z |
     2032-02-29T02:00 2060-02-29 2088-02-29 | both_days
B038 | 0 13 8 1,4,7,10 3 | UTC | 2020-09-24T00:00Z |
     2025-01-08T13:00 10-08 2026-04-08 07-08 | both_days
B040 | 0 4 1 * *       | UTC | 2026-02-03T00:00Z | 2026-03-01T04:00 04-01
"""

DST = """
B041 | 0 20 * * * | Europe/Paris | 2022-10-30T00:00+02:00 | 2022-10-30T19:00 10-31 11-01
B043 | 0 0 * * * | Europe/Warsaw | 2017-03-26T00:00 | 2017-03-26T22:00 03-27
B044 | 0 8 * * 1-5 | America/New_York | 2018-11-02T12:00Z | 2018-11-05T13:00
B044 | 0 8 * * 1-5 | America/New_York | 2018-11-04T10:00Z | 2018-11-02T12:00 | backwards
B046 | 0 0 * * 0 | America/Santiago | 2022-08-21T00:00 |
     2022-08-28T04:00 09-04 09-11T04:00[G] 09-18T03:00
B047 | 0 1-23/2 * * * | Europe/London | 2024-10-26T22:30Z | 2024-10-27T00:00 03:00 05:00
B047 | 0 */2 * * * | Europe/London | 2024-10-26T22:30Z | 2024-10-26T23:00 10-27T02:00 04:00
B049 | 0 0 * * 1-5 | America/Chicago | 2021-03-12T00:00 | 2021-03-15T05:00 03-16 03-17
B050 | 0 2 * * * | America/New_York | 2013-03-09T03:00 | 2013-03-10T07:00[G] 03-11T06:00 03-12
B052 | 0 2 * * * | America/Los_Angeles | 2025-03-08T03:00 | 2025-03-09T10:00[G] 03-10T09:00
B053 | 0 1 * * * | America/Los_Angeles | 2014-11-01T03:00 | 2014-11-02T08:00 11-03T09:00
B053 | 0 2 * * * | America/Los_Angeles | 2014-03-08T03:00 | 2014-03-09T10:00[G] 03-10T09:00
B055 | 0 12 11,26 * * | America/Sao_Paulo | 2014-10-17T12:00 | 2014-10-26T14:00 11-11
B056 | 0 0 * * * | Europe/Prague | 2026-03-29T00:30 | 2026-03-29T22:00 03-30
B058 | 30 * 1 * * | Europe/Berlin | 2023-03-31T12:00Z |
     2023-03-31T22:30 23:30 04-01T00:30 01:30 02:30 03:30 04:30 05:30 06:30 07:30 08:30 09:30
     10:30 11:30 12:30 13:30 14:30 15:30 16:30 17:30 18:30 19:30 20:30 21:30 04-30T22:30
B059 | * * * */3 * | America/New_York | 2015-02-15T00:00 | 2015-04-01T04:00 04:01
B061 | */30 * * * * | Australia/Melbourne | 2024-04-06T14:00Z |
     2024-04-06T14:30 15:00 15:30 16:00 16:30 17:00 17:30
B062 | 55 * * * * | Europe/Belgrade | 2026-03-29T23:55 | 2026-03-29T22:55 23:55
B062 | 55 * * * * | Europe/Belgrade | 2026-03-31T23:55 | 2026-03-31T22:55 23:55
B064 | 0 * * * * | UTC | 2025-10-05T02:00Z | 2025-10-05T03:00 04:00
B065 | 30 * * * * | Asia/Tokyo | 2019-03-30T23:30Z | 2019-03-31T00:30 01:30 02:30
B067 | 0 12 * * 1 | Europe/Amsterdam | 2013-10-26T12:00 | 2013-10-28T11:00 11-04
B070 | 0,15,30,45 6-22 * * * | Europe/Brussels | 2023-10-28T22:30 |
     2023-10-28T20:45 10-29T05:00 05:15
B071 | 0 7,9 * * * | America/Los_Angeles | 2020-03-07T12:00 |
     2020-03-08T14:00 16:00 03-09T14:00 16:00
B073 | 30 2 * * * | America/New_York | 2024-03-09T12:00 | 2024-03-10T07:00[G] 03-11T06:30
B073 | 30 1 * * * | America/New_York | 2024-11-02T12:00 | 2024-11-03T05:30 11-04T06:30
B074 | 30 2 * * * | Europe/Berlin | 2026-10-24T12:00 | 2026-10-25T00:30 10-26T01:30
"""

TZ = """
B076 | 0 * * * * | Australia/Lord_Howe | 2019-10-06T01:43 | 2019-10-05T16:00 17:00
B076 | 0 * * * * | Australia/Lord_Howe | 2019-10-05T16:00Z | 2019-10-05T14:30 | backwards
B076 | 15 2 * * * | Australia/Lord_Howe | 2019-10-06T01:43 | 2019-10-05T15:30[G] 10-06T15:15
B077 | 45 1 * * * | Australia/Lord_Howe | 2026-04-04T12:00 | 2026-04-04T14:45 04-05T15:15
B077 | */15 * * * * | Australia/Lord_Howe | 2026-04-04T14:15Z |
     2026-04-04T14:30 14:45 15:00 15:15 15:30
B079 | 0 * * * * | Asia/Kolkata | 2016-01-04T00:00Z | 2016-01-04T00:30 01:30
B079 | 0 * * * * | Asia/Kathmandu | 2026-01-01T00:00Z | 2026-01-01T00:15 01:15 02:15
B079 | 0 9 * * * | Asia/Kathmandu | 2026-01-01T00:00Z | 2026-01-01T03:15 01-02 01-03
B080 | 0 10 * * * | Asia/Kolkata | 2023-07-16T03:00Z | 2023-07-16T04:30 07-17
B082 | 30 2 * * * | Africa/Casablanca | 2025-02-22T12:00Z | 2025-02-23T01:30 02-24T02:30
B082 | 30 2 * * * | Africa/Casablanca | 2025-04-05T12:00Z | 2025-04-06T02:00[G] 04-07T01:30
B082 | 0 9 * * * | Africa/Casablanca | 2025-02-22T12:00Z | 2025-02-23T09:00
B082 | 0 9 * * * | Africa/Casablanca | 2025-04-05T12:00Z | 2025-04-06T08:00
B083 | 0 9 * * * | Pacific/Apia | 2011-12-29T10:00Z | 2011-12-29T19:00 12-30
B083 | 0 9 * * FRI | Pacific/Apia | 2011-12-23T10:00Z | 2011-12-23T19:00 2012-01-05
B083 | 0 9 30 12 * | Pacific/Apia | 2011-12-29T10:00Z | 2012-12-29T19:00
B083 | 0 * * * * | Pacific/Apia | 2011-12-30T08:00Z | 2011-12-30T09:00 10:00 11:00
B085 | 0 9 * * * | Europe/Kyiv | 2026-03-28T12:00 | 2026-03-29T06:00
"""


class Case(NamedTuple):
    """The next slots of an expression after a start, or the ones before it, the latest first."""

    number: str
    expression: str
    tz: str
    start: str
    slots: list[str]
    made_up: set[str]
    options: set[str]

    def __str__(self) -> str:
        return " ".join((self.number, self.expression, self.tz, self.start, *self.options))


def cases(table: str) -> list[Case]:
    lines = table.strip().replace("\n  ", " ").splitlines()
    return [_case(line) for line in lines]


def _case(line: str) -> Case:
    number, expression, tz, start, slots, *options = map(str.strip, line.split(" | "))
    found: list[str] = []
    made_up = set()
    for text in slots.split():
        year, day, clock = _parts(text.removesuffix("[G]"))
        if not year:
            year = found[-1][:4]
        if not day:
            day = found[-1][5:10]
        if not clock:
            clock = found[-1][11:].removesuffix("Z")
        found.append(f"{year}-{day}T{clock}Z")
        if text.endswith("[G]"):
            made_up.add(found[-1])
    return Case(number, expression, tz, start, found, made_up, set(options))


def _parts(text: str) -> tuple[str, ...]:
    parts = re.fullmatch(r"(?:(\d{4})-)?(?:(\d\d-\d\d)T?)?(\d\d:\d\d(?::\d\d)?)?", text)
    assert parts is not None, text
    return parts.groups("")


CASES = [case for table in (PARSE, NEVER, DST, TZ) for case in cases(table)]
