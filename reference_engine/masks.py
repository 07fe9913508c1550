"""The masks of a constrained answer, each made while the pass runs whose logits it is for."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor, Future

import numpy as np
from numpy.typing import NDArray

from reference_engine.constraint import Constraint
from reference_engine.errors import EngineError, EngineRequestError

Mask = NDArray[np.bool_]


class Masks:
    """Of one answer, in turn. `took` may be called once the last mask was read, by one thread at a time.

    Raises EngineRequestError for a constraint of a model whose logits have another `width`, and for one that cannot be
    followed.
    """

    def __init__(self, constraint: Constraint, width: int, maker: Executor) -> None:
        self._constraint = constraint.copy()
        self._maker = maker
        first = self._made()
        if len(first) != width:
            raise EngineRequestError(
                f"The constraint is one of {len(first)} tokens, the model has {width}.",
                remedy="Make it with this engine's `structure`.",
            )
        self._next: Future[Mask] = Future()
        self._next.set_result(first)

    def failure(self) -> EngineError | None:
        """Waits for the next mask; what speaks against it."""
        error = self._next.exception()
        if error is None or isinstance(error, EngineError):
            return error
        return EngineError(f"The answer's grammar broke off: {type(error).__name__}.")

    def next(self) -> Mask:
        """Where `failure` found none: True for the tokens that may come next."""
        return self._next.result()

    def took(self, token_id: int) -> None:
        self._next = self._maker.submit(self._after, token_id)

    def _after(self, token_id: int) -> Mask:
        self._constraint.accept(token_id)
        return self._made()

    def _made(self) -> Mask:
        mask = self._constraint.mask()
        if not mask.any():
            raise EngineError("No token is allowed next.")
        return mask


def masked(logits: NDArray[np.float32], masks: Mapping[int, Mask]) -> NDArray[np.float32]:
    """The rows to sample from: a forbidden token of a masked line has no chance. `logits` stay as they are."""
    if not masks:
        return logits
    held = logits.copy()
    for line, mask in masks.items():
        held[line][~mask] = -np.inf
    return held
