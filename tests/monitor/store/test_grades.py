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


@pytest.mark.parametrize(
    "blob", [b"", b"SCO\x01[]", b"GRA\x02[]", b"GRA\x01", b"GRA\x01[1]", b'GRA\x01["a",0,"x",null]']
)
def test_anything_else_is_damaged(blob: bytes) -> None:
    with pytest.raises(StorageError, match="stored grade"):
        decode_grade(blob)
