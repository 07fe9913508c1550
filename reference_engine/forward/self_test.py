"""Whether a forward pass gives a row the same bits in any company, on the machine at hand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from reference_engine.forward.batch import PAGE, Asked, Forward, ReadOut
from reference_engine.forward.pieces import Piece, batch_of

TOKENS = 70
"""More than one key block of attention, and a few pages."""
CHUNK = 19
MATES = (5, 3)
PAGES_NEEDED = -(-TOKENS // PAGE) + len(MATES)
_TOP = 20


def first_difference(forward: Forward, pages: NDArray[np.int64], vocab_size: int) -> str | None:
    """None, or a sentence that says what differed.

    `pages` [layer groups, PAGES_NEEDED] are byte offsets of pages of the arena that may be overwritten. Rows are
    compared with themselves in a pass over the whole sequence: alone, in a chunk, and between rows of other sequences.
    """
    ids = np.random.default_rng(0).integers(0, vocab_size, TOKENS + sum(MATES)).tolist()
    own, others = pages[:, : -len(MATES)], np.split(pages[:, -len(MATES) :], len(MATES), axis=1)
    whole = forward.hidden(batch_of([Piece(ids[:TOKENS], 0, own)]))
    last = Piece(ids[TOKENS - 1 : TOKENS], TOKENS - 1, own)
    chunk = Piece(ids[TOKENS - CHUNK : TOKENS], TOKENS - CHUNK, own)
    before, after = (Piece(ids[-count:], 0, page) for count, page in zip(MATES, others, strict=True))
    again = {
        "computed alone": forward.hidden(batch_of([last])),
        f"computed in a chunk of {CHUNK}": forward.hidden(batch_of([chunk])),
        "computed between rows of other sequences": forward.hidden(batch_of([before, last, after]))[MATES[0], None],
    }
    for how, rows in again.items():
        if not np.array_equal(rows, whole[-len(rows) :]):
            furthest = np.abs(rows - whole[-len(rows) :]).max()
            return f"A row {how} differs from the same row in a pass of {TOKENS} by up to {furthest:.1e}."
    return next(_differences_read(forward, whole[-CHUNK:], ids[-CHUNK:]), None)


def _differences_read(forward: Forward, hidden: NDArray[np.float32], own: list[int]) -> Iterator[str]:
    ids = np.array(own, dtype=np.int32)
    asked, asked_alone = Asked(_TOP, ids, ids[:, None]), Asked(_TOP, ids[-1:], ids[-1:, None])
    together = forward.read_out(hidden, asked)
    again = {
        "of a row alone": forward.read_out(hidden[-1:], asked_alone),
        "of the logits of a row alone": forward.read_logits(forward.logits(hidden[-1:]), asked_alone),
    }
    for how, read in again.items():
        for name in ReadOut.__dataclass_fields__:
            if not np.array_equal(getattr(read, name)[-1], getattr(together, name)[-1]):
                yield f"The {name} read {how} differs from that read of it among {len(own)}."
