"""Contexts that zstd frames are written and read with: kept, one a thread, since a new one costs more than a frame."""

from __future__ import annotations

from threading import local

import zstandard


class _Contexts(local):
    """Each thread finds its own."""

    def __init__(self) -> None:
        self.writing = zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=True)
        self.reading = zstandard.ZstdDecompressor()


_contexts = _Contexts()


def compress(content: bytes) -> bytes:
    return _contexts.writing.compress(content)


def decompress(frame: bytes, *, at_most: int) -> bytes:
    """Raises ZstdError for what is not one whole frame of at most so many bytes."""
    return _contexts.reading.decompress(frame, max_output_size=at_most, allow_extra_data=False)
