"""What free agent loops came to, as bytes: counts and words of ours, and nothing that was asked or said.

b"LOO" | version (1 byte) | one JSON document
"""

from __future__ import annotations

from functools import cache

from pydantic import TypeAdapter, ValidationError

from monitor.errors import StorageError
from probes.loops.graded import GradedLoop

MAGIC = b"LOO"
VERSION = 1
_HEAD = MAGIC + bytes([VERSION])
_REMEDY = "Restore the database from a backup; the run's verdict itself is not affected."


def encode_loop(loop: GradedLoop) -> bytes:
    return _HEAD + _adapter().dump_json(loop, exclude_defaults=True)


def decode_loop(blob: bytes) -> GradedLoop:
    """What `encode_loop` was given. Raises StorageError for anything else."""
    if not blob.startswith(_HEAD):
        raise StorageError("A stored agent loop does not begin as one of this program's.", remedy=_REMEDY)
    try:
        return _adapter().validate_json(blob[len(_HEAD) :])
    except ValidationError as error:
        raise StorageError(f"A stored agent loop is damaged ({type(error).__name__}).", remedy=_REMEDY) from error


@cache
def _adapter() -> TypeAdapter[GradedLoop]:
    return TypeAdapter(GradedLoop)
