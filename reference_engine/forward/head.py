"""From hidden states to what is asked of their distributions, some rows and one tile of the vocabulary at a time.

exp is taken in the format of the logits; its sums, the logarithm and the normaliser are float64. Tiles are added in
ascending order.

The oracle publishes log-probabilities on a grid of 1e-6 nat: rint((logit - log_normaliser) · 10⁶) / 10⁶ in float64,
half to even, taken once, here. They stand in the place of logits, with a normaliser of 0; tops and ranks are taken from
them, so that ties on the grid go to the lower id on every machine.
"""

from __future__ import annotations

import torch
from torch import Tensor

from reference_engine.distribution import top_tokens
from reference_engine.forward.arithmetic import Arithmetic
from reference_engine.forward.batch import Asked, ReadOut
from reference_engine.forward.reading import joined
from reference_engine.ops.cpu import with_padding

TILE = 8192
GRID = 10**6
_ROWS = 64


class Head:
    """The last linear layer, and the reading of its results."""

    def __init__(self, weight: Tensor, arithmetic: Arithmetic, row_multiple: int, *, oracle: bool) -> None:
        self._weight = weight
        self._arithmetic = arithmetic
        self._row_multiple = row_multiple
        self._oracle = oracle

    def logits(self, hidden: Tensor) -> Tensor:
        """[n, vocabulary]; the oracle's published log-probabilities."""
        return torch.cat([self._published(some) for some in torch.split(hidden, _ROWS)])

    def read_out(self, hidden: Tensor, asked: Asked) -> ReadOut:
        parts = []
        for at in range(0, max(hidden.shape[0], 1), _ROWS):
            some = slice(at, at + _ROWS)
            parts.append(self.read_logits(self._published(hidden[some]), _asked_of(asked, some)))
        return joined(parts)

    def read_logits(self, logits: Tensor, asked: Asked) -> ReadOut:
        """Of rows that `logits` gave, masked or not."""
        normaliser = log_normaliser(logits) if not self._oracle else torch.zeros(logits.shape[0], dtype=torch.float64)
        return _read(logits, normaliser, asked)

    def _published(self, hidden: Tensor) -> Tensor:
        logits = self._tiled(with_padding(hidden, self._row_multiple))[: hidden.shape[0]]
        if not self._oracle:
            return logits
        # Adding 0 turns a -0 from rounding into 0, which prints and compares alike everywhere.
        return ((logits - log_normaliser(logits).unsqueeze(1)) * GRID).round_().div_(GRID).add_(0.0)

    def _tiled(self, hidden: Tensor) -> Tensor:
        logits = hidden.new_empty((hidden.shape[0], self._weight.shape[0]))
        for at in range(0, self._weight.shape[0], TILE):
            logits[:, at : at + TILE] = self._arithmetic.linear(hidden, self._weight[at : at + TILE])
        return logits


def log_normaliser(logits: Tensor) -> Tensor:
    """log Σ exp of each row, [rows] float64; a logit of -inf adds nothing."""
    lowest = torch.finfo(logits.dtype).min
    largest = torch.full((logits.shape[0], 1), lowest, dtype=torch.float64)
    total = torch.zeros_like(largest)
    for tile in torch.split(logits, TILE, dim=1):
        peak = tile.amax(dim=1, keepdim=True).clamp_(min=lowest)
        mass = (tile - peak).exp_().sum(dim=1, keepdim=True, dtype=torch.float64)
        grown = torch.maximum(largest, peak.double())
        total = total * (largest - grown).exp_() + mass * (peak.double() - grown).exp_()
        largest = grown
    return (total.log_() + largest).flatten()


def _asked_of(asked: Asked, some: slice) -> Asked:
    return Asked(asked.top_k, asked.own[some], asked.chosen[some])


def _read(logits: Tensor, normaliser: Tensor, asked: Asked) -> ReadOut:
    own, chosen = torch.from_numpy(asked.own).long(), torch.from_numpy(asked.chosen).long()
    top_ids = top_tokens(logits, asked.top_k)
    own_logit = _gathered(logits, own.unsqueeze(1))
    return ReadOut(
        log_normaliser=normaliser.numpy(),
        top_ids=top_ids.to(torch.int32).numpy(),
        top_logits=logits.gather(1, top_ids).numpy(),
        own_logit=own_logit.flatten().numpy(),
        own_rank=_ranks(logits, own_logit, own).to(torch.int32).numpy(),
        chosen_logits=_gathered(logits, chosen).numpy(),
    )


def _gathered(logits: Tensor, ids: Tensor) -> Tensor:
    """The logits of ids [rows, width]; nan for -1."""
    return logits.gather(1, ids.clamp(min=0)).masked_fill_(ids < 0, float("nan"))


def _ranks(logits: Tensor, own_logit: Tensor, own: Tensor) -> Tensor:
    before = torch.arange(logits.shape[1]) < own.unsqueeze(1)
    ranks = ((logits > own_logit) | ((logits == own_logit) & before)).sum(dim=1)
    return ranks.masked_fill_(own < 0, -1)
