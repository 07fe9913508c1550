"""Observations as bytes: pure, lossless to the last bit of every float, versioned, checked when read.

    b"OBS" | version (1 byte) | zstd frame with checksum of:
        length of the head (4 bytes, little-endian) | head (JSON: scalars, names and lengths) |
        tokens | sampled | reference tokens | logprobs | expected, each candidate in the head's order

Floats are little-endian IEEE 754 binary64 as they lie in memory, so that -0.0, subnormals and NaN payloads survive.
"""

from __future__ import annotations

import json
import struct
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import zstandard

from monitor.drift.observation import FloatArray, Observation
from monitor.errors import StorageError
from monitor.store.frames import compress, decompress

MAGIC = b"OBS"
VERSION = 1

# One observation holds some kilobytes. A frame that claims more than this is damaged.
_MAX_BYTES = 64 * 1024 * 1024
_FLOAT = np.dtype("<f8")
_LENGTH = struct.Struct("<I")
_REMEDY = "Restore the database from a backup; the run's verdict itself is not affected."


def encode(observation: Observation) -> bytes:
    """One observation as bytes. Arrays must be one-dimensional float64 and as long as the tokens they belong to."""
    _check_shape(observation, "logprobs", observation.logprobs, len(observation.tokens))
    for name, values in observation.expected.items():
        _check_shape(observation, f"expected[{name}]", values, len(observation.reference_tokens))
    head = json.dumps(
        {
            "item_key": observation.item_key,
            "rep": observation.rep,
            "anchor": observation.anchor,
            "prompt_tokens": observation.prompt_tokens,
            "expected_prompt_tokens": observation.expected_prompt_tokens,
            "response_id": observation.response_id,
            "tokens": [len(token) for token in observation.tokens],
            "sampled": None if observation.sampled is None else len(observation.sampled),
            "reference_tokens": [len(token) for token in observation.reference_tokens],
            "expected": list(observation.expected),
        },
        separators=(",", ":"),
    ).encode("ascii")
    parts = [
        _LENGTH.pack(len(head)),
        head,
        *observation.tokens,
        observation.sampled or b"",
        *observation.reference_tokens,
        observation.logprobs.astype(_FLOAT).tobytes(),
        *(values.astype(_FLOAT).tobytes() for values in observation.expected.values()),
    ]
    return MAGIC + bytes([VERSION]) + compress(b"".join(parts))


def decode(blob: bytes) -> Observation:
    """The observation that `encode` was given, bit for bit. Raises StorageError for anything `encode` did not write."""
    if blob[: len(MAGIC)] != MAGIC:
        raise StorageError("A stored observation does not begin as one.", remedy=_REMEDY)
    if (version := blob[len(MAGIC) : len(MAGIC) + 1]) != bytes([VERSION]):
        raise StorageError(
            f"A stored observation has format {version.hex() or 'none'}; this program reads format {VERSION}.",
            remedy="Use the version of the program that wrote it, or a later one.",
        )
    try:
        return _Reader(_decompress(blob[len(MAGIC) + 1 :])).observation()
    except (zstandard.ZstdError, ValueError, KeyError, TypeError, struct.error) as error:
        raise StorageError(f"A stored observation is damaged ({type(error).__name__}).", remedy=_REMEDY) from error


def _check_shape(observation: Observation, field: str, values: FloatArray, length: int) -> None:
    if values.dtype != np.float64 or values.shape != (length,):
        raise StorageError(
            f"The observation {observation.item_key}/{observation.rep} cannot be stored: {field} is "
            f"{values.dtype}{list(values.shape)}, not float64[{length}].",
            remedy="Give one float64 for each token.",
        )


def _decompress(frame: bytes) -> bytes:
    parameters = zstandard.get_frame_parameters(frame)
    if not 0 < parameters.content_size <= _MAX_BYTES:
        raise ValueError("implausible size")
    content = decompress(frame, at_most=_MAX_BYTES)
    if len(content) != parameters.content_size:
        raise ValueError("cut short")
    return content


class _Reader:
    """Walks the content of a frame once, from the head to the last array."""

    def __init__(self, content: bytes) -> None:
        (length,) = _LENGTH.unpack_from(content)
        self._head: dict[str, Any] = json.loads(content[_LENGTH.size : _LENGTH.size + length])
        self._content = content
        self._at = _LENGTH.size + length

    def observation(self) -> Observation:
        head = self._head
        tokens = self._split(head["tokens"])
        sampled = None if head["sampled"] is None else self._take(head["sampled"])
        reference_tokens = self._split(head["reference_tokens"])
        logprobs = self._floats(len(tokens))
        expected = {name: self._floats(len(reference_tokens)) for name in head["expected"]}
        if self._at != len(self._content):
            raise ValueError("bytes left over")
        return Observation(
            item_key=head["item_key"],
            rep=head["rep"],
            anchor=head["anchor"],
            tokens=tokens,
            logprobs=logprobs,
            sampled=sampled,
            reference_tokens=reference_tokens,
            expected=expected,
            prompt_tokens=head["prompt_tokens"],
            expected_prompt_tokens=head["expected_prompt_tokens"],
            response_id=head["response_id"],
        )

    def _take(self, length: int) -> bytes:
        taken = self._content[self._at : self._at + length]
        if len(taken) != length:
            raise ValueError("cut short")
        self._at += length
        return taken

    def _split(self, lengths: list[int]) -> tuple[bytes, ...]:
        joined = self._take(sum(lengths))
        bounds = accumulate(lengths, initial=0)
        return tuple(joined[start:stop] for start, stop in pairwise(bounds))

    def _floats(self, count: int) -> FloatArray:
        return np.frombuffer(self._take(count * _FLOAT.itemsize), dtype=_FLOAT).astype(np.float64)
