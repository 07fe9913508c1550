"""The noise cloud of a profile: how far lawful implementations of it are apart.

A stack that serves a profile is free in what the profile does not say: how many rows and inputs of a product go
together, how attention cuts the keys, over how many devices a layer is spread, which roundings a fused kernel leaves
out. Each draw takes one set of such choices (forward.order) at random and scores the same tokens again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from reference_engine.forward.batch import PAGE, Asked
from reference_engine.forward.order import CANONICAL, Order
from reference_engine.forward.pages import by_groups, page_bytes
from reference_engine.forward.pieces import Piece, batch_of
from reference_engine.forward.torch_forward import TorchForward
from reference_engine.model.config import ModelConfig
from reference_engine.model.tensors import ModelWeights
from reference_engine.profile import NumericsProfile

_ROW_TILES = (None, 4, 16, 64)
_SPLITS = (1, 2, 3, 4, 8)
_SHARDS = (1, 2, 4, 8)
_KEY_BLOCKS = (16, 32, 64, 128, 256)


_ROUNDINGS = (
    "rounds_before_bias",
    "rounds_before_norm_weight",
    "rounds_rotation_products",
    "rounds_silu",
    "rounds_attention_weights",
)
_Choice = TypeVar("_Choice")


def drawn_order(seed: int, draw: int) -> Order:
    """A lawful order; the same one for the same numbers."""
    rng = np.random.default_rng((seed, draw))

    def one_of(choices: Sequence[_Choice]) -> _Choice:
        return choices[int(rng.integers(len(choices)))]

    return Order(
        row_tile=one_of(_ROW_TILES),
        splits=one_of(_SPLITS),
        shards=one_of(_SHARDS),
        key_block=one_of(_KEY_BLOCKS),
        **{rounding: one_of((False, True)) for rounding in _ROUNDINGS},
    )


def cloud(
    config: ModelConfig,
    weights: ModelWeights,
    profile: NumericsProfile,
    ids: Sequence[int],
    tokens: NDArray[np.int32],
    *,
    draws: int,
    seed: int,
) -> NDArray[np.float64]:
    """Deviations of log-probabilities from the canonical ones, in nats, [draws, len(ids), n].

    `weights` as WeightStore gives them under `profile`. `tokens` [len(ids), n] are the tokens whose log-probabilities
    are wanted in the distribution after each position, -1 for none (its deviation is nan).
    """
    canonical = _logprobs(config, weights, profile, ids, tokens, CANONICAL)
    orders = (drawn_order(seed, draw) for draw in range(draws))
    return np.stack([_logprobs(config, weights, profile, ids, tokens, order) - canonical for order in orders])


def _logprobs(
    config: ModelConfig,
    weights: ModelWeights,
    profile: NumericsProfile,
    ids: Sequence[int],
    tokens: NDArray[np.int32],
    order: Order,
) -> NDArray[np.float64]:
    """[len(ids), n], computed over an arena of their own."""
    size = page_bytes(config, profile)
    pages = np.arange(-(-len(ids) // PAGE), dtype=np.int64) * size
    forward = TorchForward(config, weights, profile, np.zeros(len(pages) * size, dtype=np.uint8), order=order)
    hidden = forward.hidden(batch_of([Piece(ids, 0, by_groups(config, profile, pages))]))
    nothing = np.full(len(ids), -1, dtype=np.int32)
    read = forward.read_out(hidden, Asked(0, nothing, tokens))
    return read.chosen_logits.astype(np.float64) - read.log_normaliser[:, None]
