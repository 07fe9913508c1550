"""Grades as bytes."""

from __future__ import annotations

import pytest

from monitor.errors import StorageError
from monitor.store.grades import decode_grade, encode_grade
from probes.evals.grade import RIGHT, Grade, Graded, Reason, ungradable, wrong


@pytest.mark.parametrize("grade", [RIGHT, *map(wrong, Reason), *map(ungradable, Reason)])
def test_a_grade_comes_back(grade: Grade) -> None:
    one = Graded("0f" * 32, 3, grade)
    assert decode_grade(encode_grade(one)) == one


def test_of_which_graders_it_is_comes_back_and_an_old_one_is_of_the_first() -> None:
    one = Graded("0f" * 32, 3, RIGHT, graders=7)
    assert decode_grade(encode_grade(one)) == one
    assert decode_grade(b'GRA\x01["a", 0, "right", null]').graders == 1


@pytest.mark.parametrize(
    "blob", [b"", b"SCO\x01[]", b"GRA\x02[]", b"GRA\x01", b"GRA\x01[1]", b'GRA\x01["a",0,"x",null]']
)
def test_anything_else_is_damaged(blob: bytes) -> None:
    with pytest.raises(StorageError, match="stored grade"):
        decode_grade(blob)
