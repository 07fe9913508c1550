"""Grades of eval answers as bytes: an item's hash, its repeat, and the grade in words of ours.

b"GRA" | version (1 byte) | one JSON array: hash, repeat, verdict, reason or null, version of the graders (1 where none
stands)
"""

from __future__ import annotations

import json

from monitor.errors import StorageError
from probes.evals.grade import Grade, Graded, Reason, Verdict

MAGIC = b"GRA"
VERSION = 1
_HEAD = MAGIC + bytes([VERSION])
# Those before versions were written down.
_FIRST_GRADERS = 1
_REMEDY = "Restore the database from a backup; the run's verdict itself is not affected."


def encode_grade(one: Graded) -> bytes:
    return _HEAD + json.dumps([one.item, one.rep, one.grade.verdict, one.grade.reason, one.graders]).encode()


def decode_grade(blob: bytes) -> Graded:
    """What `encode_grade` was given. Raises StorageError for anything else."""
    if not blob.startswith(_HEAD):
        raise StorageError("A stored grade does not begin as one of this program's.", remedy=_REMEDY)
    try:
        item, rep, verdict, reason, *graders = json.loads(blob[len(_HEAD) :])
        (version,) = graders or [_FIRST_GRADERS]
        return Graded(item, rep, Grade(Verdict(verdict), None if reason is None else Reason(reason)), int(version))
    except (ValueError, TypeError) as error:
        raise StorageError(f"A stored grade is damaged ({type(error).__name__}).", remedy=_REMEDY) from error
