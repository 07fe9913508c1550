"""What is kept of a run of the protocol probe, as bytes: counts and effects, and nothing that was asked or said.

b"PRO" | version (1 byte) | zstd frame with checksum of one JSON document
"""

from __future__ import annotations

from functools import cache

import zstandard
from pydantic import TypeAdapter, ValidationError

from monitor.drift.protocol import ProtocolFacts
from monitor.errors import StorageError
from monitor.store.frames import compress, decompress

MAGIC = b"PRO"
VERSION = 1
_MAX_BYTES = 16 * 1024 * 1024
_REMEDY = "Restore the database from a backup; the run's verdict itself is not affected."


def encode_facts(facts: ProtocolFacts) -> bytes:
    return MAGIC + bytes([VERSION]) + compress(_adapter().dump_json(facts, exclude_defaults=True))


def decode_facts(blob: bytes) -> ProtocolFacts:
    """What `encode_facts` was given. Raises StorageError for anything else."""
    if blob[: len(MAGIC) + 1] != MAGIC + bytes([VERSION]):
        raise StorageError("Stored facts of a protocol do not begin as this program's do.", remedy=_REMEDY)
    try:
        return _adapter().validate_json(decompress(blob[len(MAGIC) + 1 :], at_most=_MAX_BYTES))
    except (zstandard.ZstdError, ValidationError) as error:
        raise StorageError(
            f"Stored facts of a protocol are damaged ({type(error).__name__}).", remedy=_REMEDY
        ) from error


@cache
def _adapter() -> TypeAdapter[ProtocolFacts]:
    return TypeAdapter(ProtocolFacts)
