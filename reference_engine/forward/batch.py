"""What one forward pass is given and what it gives back, whoever computes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from reference_engine.sample import Draw

PAGE = 16
"""Tokens whose keys and values lie in one page; page i of a sequence holds the positions from i·PAGE on."""

Page = tuple[int, ...]
"""Byte offsets of the cells that a page has in the arena, one for each layer group; NO_CELL where it has none (any
more)."""

NO_CELL = -1


@dataclass(frozen=True, slots=True)
class Batch:
    """The rows of one forward pass: each is one token of one sequence.

    ids and positions [rows] int32; owners [rows] int32 is each row's line in `tables`. The rows of a sequence stand
    together, in ascending positions without gaps. tables [layer groups, sequences, pages] int64 are byte offsets into
    the arena, -1 where a sequence has no page (any more); every position that a row looks at lies in a page that is
    there, and so does the row's own. A page that no row looks at may belong to somebody else. The keys and values of
    all rows are written before attention reads any. read [n] int32 are the rows whose distributions are wanted,
    ascending.
    """

    ids: NDArray[np.int32]
    positions: NDArray[np.int32]
    owners: NDArray[np.int32]
    tables: NDArray[np.int64]
    read: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is wanted of n distributions: the `top_k` most likely tokens of each, its own token (`own` [n] int32, -1 for
    none) and any further ones (`chosen` [n, width] int32, filled up with -1)."""

    top_k: int
    own: NDArray[np.int32]
    chosen: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class ReadOut:
    """Of n distributions over the vocabulary. A log-probability is float64(logit) - log_normaliser.

    log_normaliser [n] float64; top_ids [n, k] int32 and top_logits [n, k] float32 by (-logit, id); own_logit [n]
    float32 (nan for none); own_rank [n] int32, 0 for the most likely, ties to the lower id (-1 for none); chosen_logits
    [n, width] float32 (nan for none).
    """

    log_normaliser: NDArray[np.float64]
    top_ids: NDArray[np.int32]
    top_logits: NDArray[np.float32]
    own_logit: NDArray[np.float32]
    own_rank: NDArray[np.int32]
    chosen_logits: NDArray[np.float32]


class Forward(Protocol):
    """A model under one profile over one arena. Not safe for several threads at once.

    Under the oracle profile every float32 below, and in ReadOut, is float64, and log-probabilities stand in the place
    of logits: they are what it publishes (see forward.head), with a normaliser of 0.

    What a row gives depends on its own token, its position and the tokens before it, and on nothing else.
    """

    def first_layers(self, count: int) -> Forward:
        """The same over the same pages without the layers after the first `count`: what it writes of a row are the
        bits that the whole model writes there."""
        ...

    def hidden(self, batch: Batch) -> NDArray[np.float32]:
        """Runs the rows, writing their keys and values; the final hidden states [read, hidden] after the last norm."""
        ...

    def logits(self, hidden: NDArray[np.float32]) -> NDArray[np.float32]:
        """[n, vocabulary] for hidden states [n, hidden]."""
        ...

    def read_out(self, hidden: NDArray[np.float32], asked: Asked) -> ReadOut:
        """By tiles of the vocabulary: the logits of all rows are never in memory at once."""
        ...

    def read_logits(self, logits: NDArray[np.float32], asked: Asked) -> ReadOut:
        """The same of rows whose logits were asked for, with the same bits."""
        ...

    def sample(self, logits: NDArray[np.float32], draws: Sequence[Draw]) -> list[int]:
        """One token for each row of logits."""
        ...
