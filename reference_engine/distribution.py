"""From logits to log-probabilities, ranks and tops.

exp is taken in float32, its sum, the logarithm and every log-probability in float64: the normaliser is then exact to
about 1e-8 nat, far below the error of the logits themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from reference_engine.interface import TokenDistribution


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of one row: its index in the sequence, the token that stands there, and further token ids."""

    index: int
    token_id: int | None
    chosen: Sequence[int] = ()


def distributions(logits: Tensor, wanted: Sequence[Wanted], top_k: int) -> list[TokenDistribution]:
    """One distribution for each row of `logits` [rows, vocabulary]."""
    normaliser = log_normaliser(logits)
    top_ids = top_tokens(logits, top_k)
    top_logprobs = logits.gather(1, top_ids).double() - normaliser
    tail = 1.0 - top_logprobs.exp().sum(dim=1)
    tops = [
        tuple(zip(ids, logprobs, strict=True))
        for ids, logprobs in zip(top_ids.tolist(), top_logprobs.tolist(), strict=True)
    ]
    own = _own(logits, normaliser, wanted)
    return [
        TokenDistribution(
            index=want.index,
            token_id=want.token_id,
            logprob=own[row][0],
            rank=own[row][1],
            top=tops[row],
            chosen=_chosen(logits[row], normaliser[row], want.chosen),
            tail_mass=max(0.0, mass),
        )
        for row, (want, mass) in enumerate(zip(wanted, tail.tolist(), strict=True))
    ]


def log_normaliser(logits: Tensor) -> Tensor:
    """log Σ exp of each row, [rows, 1] float64."""
    largest = logits.amax(dim=1, keepdim=True)
    return (logits - largest).exp_().sum(dim=1, keepdim=True, dtype=torch.float64).log_() + largest.double()


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


def _own(logits: Tensor, normaliser: Tensor, wanted: Sequence[Wanted]) -> list[tuple[float | None, int | None]]:
    """Log-probability and rank of each row's own token; (None, None) where no token stands."""
    rows = [row for row, want in enumerate(wanted) if want.token_id is not None]
    own: list[tuple[float | None, int | None]] = [(None, None)] * len(wanted)
    if not rows:
        return own
    ids = torch.tensor([[wanted[row].token_id] for row in rows])
    some = logits[rows]
    value = some.gather(1, ids)
    before = torch.arange(logits.shape[1]) < ids
    ranks = ((some > value) | ((some == value) & before)).sum(dim=1).tolist()
    logprobs = (value.double() - normaliser[rows]).flatten().tolist()
    for row, logprob, rank in zip(rows, logprobs, ranks, strict=True):
        own[row] = (logprob, rank)
    return own


def _chosen(logits: Tensor, normaliser: Tensor, ids: Sequence[int]) -> dict[int, float]:
    if not ids:
        return {}
    values = logits[torch.tensor(list(ids))].double() - normaliser
    return dict(zip(ids, values.tolist(), strict=True))
