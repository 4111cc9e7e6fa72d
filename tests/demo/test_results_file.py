"""The results file is written once and read a row at a time."""

import tracemalloc
from itertools import islice
from pathlib import Path

import pytest

from rota.demo.results_file import HEADER, Student, read_results, write_results


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results.csv"


def test_every_student_comes_back_as_written(results: Path) -> None:
    write_results(results, 300)

    students = list(read_results(results))

    assert [student.id for student in students] == list(range(1, 301))
    assert len({student.roll_number for student in students}) == 300
    assert all(33 <= mark <= 100 for student in students for mark in student.marks)
    header, first, *_ = results.read_text("utf-8").splitlines()
    assert header == ",".join(HEADER)
    assert first.startswith("1,26-00000001,+910000000001,")


def test_the_same_file_is_written_each_time(results: Path, tmp_path: Path) -> None:
    write_results(results, 50)
    write_results(tmp_path / "again.csv", 50)

    assert results.read_bytes() == (tmp_path / "again.csv").read_bytes()


def test_a_row_is_read_when_it_is_asked_for(results: Path) -> None:
    write_results(results, 5_000)
    with results.open("a", encoding="utf-8") as file:
        file.write("here the file is broken\n")

    first = list(islice(read_results(results), 1_000))

    assert first[-1].id == 1_000
    with pytest.raises(ValueError, match="not enough values"):
        list(read_results(results))


def test_memory_does_not_grow_with_the_file(results: Path) -> None:
    tracemalloc.start()
    try:
        write_results(results, 20_000)
        count = sum(isinstance(student, Student) for student in read_results(results))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert count == 20_000
    assert peak < 1_000_000 < results.stat().st_size * 2
