"""The board's results: a CSV file of made-up students, written once and read a row at a time."""

import csv
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from rota.clock import new_rng

SUBJECTS = ("mathematics", "science", "english", "history", "geography")
HEADER = ("student_id", "roll_number", "phone", *SUBJECTS)
MARKS = range(33, 101)
SEED = 2026


class Student(Struct, frozen=True):
    """A row of the file: nobody's name, a number that no telephone has, and five marks."""

    id: int
    roll_number: str
    phone: str
    marks: tuple[int, int, int, int, int]


def write_results(path: Path, students: int) -> None:
    """Write a file of that many students, the same ones each time."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        writer.writerows(_rows(students))


def _rows(students: int) -> Iterator[tuple[object, ...]]:
    rng = new_rng(SEED)
    for number in range(1, students + 1):
        marks = rng.choices(MARKS, k=len(SUBJECTS))
        yield number, f"26-{number:08d}", f"+91000{number:07d}", *marks


def read_results(path: Path) -> Iterator[Student]:
    """Yield the students of a file one by one, however many there are (R1.5)."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        next(rows)
        for number, roll_number, phone, *marks in rows:
            a, b, c, d, e = map(int, marks)
            yield Student(int(number), roll_number, phone, (a, b, c, d, e))
