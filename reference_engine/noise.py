"""The noise cloud of a profile: how far lawful implementations of it are from the engine's own numbers.

A stack that serves a profile is free in what the profile does not say: how many rows and inputs of a product go
together, how attention cuts the keys, over how many devices a layer is spread, which roundings a fused kernel leaves
out. Each draw takes one set of such choices (forward.order) at random and scores the same tokens again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from reference_engine.errors import EngineRequestError
from reference_engine.forward.batch import PAGE, Asked
from reference_engine.forward.order import Order
from reference_engine.forward.pages import by_groups, page_bytes
from reference_engine.forward.pieces import Piece, batch_of
from reference_engine.forward.torch_forward import TorchForward
from reference_engine.model.config import ModelConfig
from reference_engine.model.tensors import ModelWeights
from reference_engine.profile import NumericsProfile, profile_named

if TYPE_CHECKING:
    from reference_engine.engine import Engine

Tokens = Sequence[Sequence[int]]

_ROW_TILES = (None, 4, 16, 64)
_SPLITS = (1, 2, 3, 4, 8)
_SHARDS = (1, 2, 4, 8)
_KEY_BLOCKS = (16, 32, 64, 128, 256)
_KEY_SPLITS = (1, 2, 3, 4, 8)
_ROUNDINGS = (
    "rounds_before_bias",
    "rounds_before_norm_weight",
    "rounds_rotation_products",
    "rounds_silu",
    "rounds_attention_weights",
)
_Choice = TypeVar("_Choice")


def noise_cloud(
    engine: Engine, ids: Sequence[int], tokens: Tokens, *, profile: str, draws: int, seed: int
) -> NDArray[np.float64]:
    """[draws, len(ids), n], in nats: the log-probabilities of a lawful implementation less the engine's own.

    `tokens` [len(ids)][n] are the tokens whose log-probabilities are wanted in the distribution after each position, -1
    for none (its deviation is nan). Raises EngineRequestError.
    """
    wanted = _checked(tokens, len(ids), draws)
    own = _own(engine, ids, wanted, profile)
    config, weights = engine.tensors(profile)
    orders = (drawn_order(seed, draw) for draw in range(draws))
    rows = lawful_logprobs(config, weights, profile_named(profile), ids, wanted, orders)
    return np.stack([row - own for row in rows])


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
        key_splits=one_of(_KEY_SPLITS),
        **{rounding: one_of((False, True)) for rounding in _ROUNDINGS},
    )


def lawful_logprobs(
    config: ModelConfig,
    weights: ModelWeights,
    profile: NumericsProfile,
    ids: Sequence[int],
    tokens: NDArray[np.int32],
    orders: Iterator[Order],
) -> Iterator[NDArray[np.float64]]:
    """[len(ids), n] under each order. `weights` are those of the profile, `tokens` [len(ids), n] as above."""
    size = page_bytes(config, profile)
    pages = np.arange(-(-len(ids) // PAGE), dtype=np.int64) * size
    asked = Asked(0, np.full(len(ids), -1, dtype=np.int32), tokens)
    arena = np.zeros(len(pages) * size, dtype=np.uint8)
    for order in orders:
        forward = TorchForward(config, weights, profile, arena, row_multiple=1, order=order)
        read = forward.read_out(forward.hidden(batch_of([Piece(ids, 0, by_groups(config, profile, pages))])), asked)
        yield read.chosen_logits.astype(np.float64) - read.log_normaliser[:, None]


def _checked(tokens: Tokens, length: int, draws: int) -> NDArray[np.int32]:
    if len(tokens) != length or len({len(each) for each in tokens}) > 1:
        raise EngineRequestError(
            "tokens has to have a line for each id, and as many in each.", remedy="Fill lines up with -1."
        )
    if draws < 1:
        raise EngineRequestError(f"{draws} draws make no cloud.", remedy="Ask for 1 draw or more.")
    return np.asarray(tokens, dtype=np.int32).reshape(length, -1)


def _own(engine: Engine, ids: Sequence[int], wanted: NDArray[np.int32], profile: str) -> NDArray[np.float64]:
    distinct = [int(token) for token in np.unique(wanted) if token >= 0]
    scored = engine.score(ids, top_k=0, token_ids=distinct, profile=profile)
    return np.array(
        [
            [position.chosen.get(token, np.nan) for token in line]
            for position, line in zip(scored.positions[1:], wanted.tolist(), strict=True)
        ]
    ).reshape(wanted.shape)
