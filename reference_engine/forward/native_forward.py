"""The forward pass by the kernels in C++: the fast path, with the same bits on every processor that runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from reference_engine.forward.batch import PAGE, Asked, Batch, ReadOut
from reference_engine.model.config import ModelConfig
from reference_engine.native.library import ACTIVATIONS, KEYS_AND_VALUES, Kernels, Model, padded
from reference_engine.native.weights import NativeWeights
from reference_engine.profile import NumericsProfile
from reference_engine.sample import Draw

_WIDEST_HEAD = 512


def native_runs(config: ModelConfig, profile: NumericsProfile) -> bool:
    """Whether the kernels know this profile and a model of this shape."""
    # Activations that are rounded to bfloat16 hold keys and values to it as well.
    known = profile.activations in ACTIVATIONS and profile.kv in KEYS_AND_VALUES
    if profile.activations == "bf16":
        known = profile.kv == "bf16"
    return known and config.head_dim <= _WIDEST_HEAD and config.n_heads % config.n_kv_heads == 0


def native_layer_bytes(config: ModelConfig, profile: NumericsProfile) -> int:
    """What a page of PAGE tokens takes for each of its layers; heads are padded to whole lanes (attention.h)."""
    size = 2 if profile.kv == "bf16" else 4
    return config.n_kv_heads * 2 * padded(config.head_dim) * PAGE * size


class NativeForward:
    """Implements Forward over `arena`, the bytes that the pages lie in."""

    def __init__(self, kernels: Kernels, weights: NativeWeights, arena: NDArray[np.uint8]) -> None:
        self._kernels = kernels
        self._weights = weights
        self._arena = arena

    def first_layers(self, count: int) -> NativeForward:
        model = Model.from_buffer_copy(self._weights.model)
        model.layer_count = count
        return NativeForward(self._kernels, replace(self._weights, model=model), self._arena)

    def hidden(self, batch: Batch) -> NDArray[np.float32]:
        return self._kernels.hidden(self._weights.model, batch, self._arena)

    def logits(self, hidden: NDArray[np.float32]) -> NDArray[np.float32]:
        return self._kernels.logits(self._weights.model, hidden)

    def read_out(self, hidden: NDArray[np.float32], asked: Asked) -> ReadOut:
        return self._kernels.read_out(self._weights.model, hidden, asked)

    def read_logits(self, logits: NDArray[np.float32], asked: Asked) -> ReadOut:
        return self._kernels.read_logits(self._weights.model, logits, asked)

    def sample(self, logits: NDArray[np.float32], draws: Sequence[Draw]) -> list[int]:
        return self._kernels.sample(logits, draws)
