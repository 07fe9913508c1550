"""Reads log-probabilities out of rows of logits, for peers that stop at logits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]


def log_normalisers(rows: Rows) -> Rows:
    """[rows] of [rows, vocabulary]."""
    largest: Rows = rows.max(axis=1)
    total: Rows = np.exp(rows - largest[:, None]).sum(axis=1)
    return largest + np.log(total)


def top(rows: Rows, k: int) -> tuple[NDArray[np.int64], Rows]:
    """The ids and logits [rows, k] of the most likely tokens, best first."""
    ids: NDArray[Any] = np.argpartition(rows, -k, axis=1)[:, -k:]
    logits = np.take_along_axis(rows, ids, axis=1)
    order = np.argsort(-logits, axis=1, kind="stable")
    return np.take_along_axis(ids, order, axis=1), np.take_along_axis(logits, order, axis=1)


def numbers(row: Rows, k: int) -> list[float]:
    """The ids and log-probabilities of the `k` most likely tokens of one row [vocabulary]."""
    ids, logits = top(row[None], k)
    return [*ids[0].tolist(), *(logits[0] - log_normalisers(row[None])[0]).tolist()]
