"""Drafts of the model's own first layers: their keys and values are those of the whole model, and lie in its pages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference_engine.forward.batch import Forward
from reference_engine.forward.pieces import Piece, batch_of
from reference_engine.spec import Drafting


class ModelDrafter:
    """Implements Drafter. `forward` is of the first layers: what it writes of a row, the pass that verifies the row
    writes again.

    A token is drawn as the whole model draws it, with the noise of its seed and position, so that the two agree as
    often as their distributions let them.
    """

    def __init__(self, forward: Forward) -> None:
        self._forward = forward

    def proposals(self, drafting: Sequence[Drafting]) -> list[Sequence[int]]:
        proposed: list[list[int]] = [[] for _ in drafting]
        pairs = list(zip(drafting, proposed, strict=True))
        for turn in range(max(each.most for each in drafting)):
            _extend(self._forward, [pair for pair in pairs if pair[0].most > turn])
        return list(proposed)


def _extend(forward: Forward, pairs: Sequence[tuple[Drafting, list[int]]]) -> None:
    """One more token for each."""
    ends = [len(each.request.known) + len(tokens) for each, tokens in pairs]
    pieces = [
        Piece([tokens[-1] if tokens else each.request.known[-1]], end - 1, np.array(each.pages, dtype=np.int64).T)
        for (each, tokens), end in zip(pairs, ends, strict=True)
    ]
    logits = forward.logits(forward.hidden(batch_of(pieces)))
    drawn = forward.sample(logits, [each.draw(end) for (each, _), end in zip(pairs, ends, strict=True)])
    for (_, tokens), token in zip(pairs, drawn, strict=True):
        tokens.append(token)
