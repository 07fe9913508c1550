"""What an endpoint's runs of tool calls add up to, as bytes: counts by parts of the cases' hashes, and a finding.

b"ACC" | version (1 byte) | zstd frame with checksum of one JSON document
"""

from __future__ import annotations

from functools import cache

import zstandard
from pydantic import TypeAdapter, ValidationError

from monitor.drift.accumulated import Accumulated
from monitor.errors import StorageError
from monitor.store.frames import compress, decompress

_HEAD = b"ACC" + bytes([1])
_MAX_BYTES = 4 * 1024 * 1024
_REMEDY = "Restore the database from a backup."


def encode_accumulated(given: Accumulated) -> bytes:
    return _HEAD + compress(_adapter().dump_json(given))


def decode_accumulated(blob: bytes) -> Accumulated:
    """What `encode_accumulated` was given. Raises StorageError for anything else."""
    if not blob.startswith(_HEAD):
        raise StorageError("What runs add up to does not begin as one of this program's.", remedy=_REMEDY)
    try:
        return _adapter().validate_json(decompress(blob[len(_HEAD) :], at_most=_MAX_BYTES))
    except (zstandard.ZstdError, ValidationError) as error:
        raise StorageError(f"What runs add up to is damaged ({type(error).__name__}).", remedy=_REMEDY) from error


@cache
def _adapter() -> TypeAdapter[Accumulated]:
    return TypeAdapter(Accumulated)
