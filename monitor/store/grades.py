"""Grades of eval answers as bytes: an item's hash, its repeat, and the grade in words of ours.

b"GRA" | version (1 byte) | one JSON array: hash, repeat, verdict, reason or null
"""

from __future__ import annotations

import json

from monitor.errors import StorageError
from probes.evals.grade import Grade, Graded, Reason, Verdict

MAGIC = b"GRA"
VERSION = 1
_HEAD = MAGIC + bytes([VERSION])
_REMEDY = "Restore the database from a backup; the run's verdict itself is not affected."


def encode_grade(one: Graded) -> bytes:
    return _HEAD + json.dumps([one.item, one.rep, one.grade.verdict, one.grade.reason]).encode()


def decode_grade(blob: bytes) -> Graded:
    """What `encode_grade` was given. Raises StorageError for anything else."""
    if not blob.startswith(_HEAD):
        raise StorageError("A stored grade does not begin as one of this program's.", remedy=_REMEDY)
    try:
        item, rep, verdict, reason = json.loads(blob[len(_HEAD) :])
        return Graded(item, rep, Grade(Verdict(verdict), None if reason is None else Reason(reason)))
    except (ValueError, TypeError) as error:
        raise StorageError(f"A stored grade is damaged ({type(error).__name__}).", remedy=_REMEDY) from error
