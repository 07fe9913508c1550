"""Scored tool-call answers as bytes: what rates and tests are counted from, without a word of what was asked or said.

    b"SCO" | version (1 byte) | zstd frame with checksum of one JSON document

Tool names and places in the arguments can be a user's own: a name is kept as its hash, a place as its kind's.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache

import zstandard
from pydantic import TypeAdapter, ValidationError

from monitor.errors import StorageError
from monitor.store.frames import compress, decompress
from monitor.store.text import foreign_id
from probes.tools.scored import Scored, ScoredCall
from probes.wire.argument_schema import SchemaFault

MAGIC = b"SCO"
VERSION = 1
_MAX_BYTES = 4 * 1024 * 1024
_LONGEST_REASON = 64
_REMEDY = "Restore the database from a backup; the run's verdict itself is not affected."


def encode_scored(answer: Scored) -> bytes:
    kept = replace(
        answer,
        calls=tuple(map(_without_words, answer.calls)),
        content_fault=answer.content_fault and _without_place(answer.content_fault),
        finish_reason=foreign_id(answer.finish_reason, _LONGEST_REASON),
    )
    return MAGIC + bytes([VERSION]) + compress(_adapter().dump_json(kept, exclude_defaults=True))


def decode_scored(blob: bytes) -> Scored:
    """What `encode_scored` was given, hashes in the place of words. Raises StorageError for anything else."""
    if blob[: len(MAGIC) + 1] != MAGIC + bytes([VERSION]):
        raise StorageError("A stored tool-call answer does not begin as one of this program's.", remedy=_REMEDY)
    try:
        return _adapter().validate_json(decompress(blob[len(MAGIC) + 1 :], at_most=_MAX_BYTES))
    except (zstandard.ZstdError, ValidationError) as error:
        raise StorageError(f"A stored tool-call answer is damaged ({type(error).__name__}).", remedy=_REMEDY) from error


def _without_words(call: ScoredCall) -> ScoredCall:
    return replace(call, name=_hash(call.name), fault=call.fault and _without_place(call.fault))


def _without_place(fault: SchemaFault) -> SchemaFault:
    return replace(fault, pointer="", kind=_hash(fault.kind))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@cache
def _adapter() -> TypeAdapter[Scored]:
    return TypeAdapter(Scored)
