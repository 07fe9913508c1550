"""The most likely tokens of rows of logits."""

from __future__ import annotations

import torch
from torch import Tensor


def top_tokens(logits: Tensor, k: int) -> Tensor:
    """The ids [rows, k] of the k largest logits of each row, by falling logit; the lowest id first among equals."""
    k = min(k, logits.shape[1])
    if k == 0:
        return torch.empty((logits.shape[0], 0), dtype=torch.long)
    values, ids = logits.topk(k, dim=1)
    ids = _by_falling_value(values, ids)
    border = values[:, -1:]
    tied_rows = ((logits >= border).sum(dim=1) > k).nonzero().flatten().tolist()
    for row in tied_rows:
        candidates = (logits[row] >= border[row]).nonzero().flatten()
        ids[row] = _by_falling_value(logits[row, candidates].unsqueeze(0), candidates.unsqueeze(0))[0, :k]
    return ids


def _by_falling_value(values: Tensor, ids: Tensor) -> Tensor:
    by_id = ids.argsort(dim=1)
    order = values.gather(1, by_id).argsort(dim=1, descending=True, stable=True)
    return ids.gather(1, by_id.gather(1, order))
