"""Several answers to one prompt: which seed each of them has."""

from __future__ import annotations

import hashlib

MAX_ANSWERS = 128
"""Prompts times `n`, of one request."""


def seed_of(seed: int | None, index: int) -> int | None:
    """The seed of answer `index` of a request: its own for the first, then the first eight bytes of SHA-256 of
    `SEED:INDEX`, big-endian, without the sign bit. Who asks with that seed gets that answer alone."""
    if seed is None or index == 0:
        return seed
    digest = hashlib.sha256(f"{seed}:{index}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
