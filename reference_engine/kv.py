"""The key-value cache: one block of memory per layer, one slot per sequence, positions absolute."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from reference_engine.model.config import ModelConfig
from reference_engine.ops.cpu import KEY_BLOCK


class KVCache:
    """Keys and values of `slots` sequences of up to `length` tokens, [slots, kv_heads, capacity, head_dim] per layer.

    The memory starts as zeros because attention multiplies masked positions by zero weights: they must be finite.
    It comes from numpy, whose zeros cost nothing until a position is written (torch would touch all of them).
    """

    def __init__(self, config: ModelConfig, slots: int, length: int) -> None:
        self.capacity = (length + KEY_BLOCK - 1) // KEY_BLOCK * KEY_BLOCK
        shape = (config.n_layers, slots, config.n_kv_heads, self.capacity, config.head_dim)
        self._keys = torch.from_numpy(np.zeros(shape, dtype=np.float32))
        self._values = torch.from_numpy(np.zeros(shape, dtype=np.float32))

    @staticmethod
    def nbytes(config: ModelConfig, length: int) -> int:
        """Bytes that one sequence of `length` tokens needs."""
        return 2 * 4 * config.n_layers * config.kv_size * ((length + KEY_BLOCK - 1) // KEY_BLOCK * KEY_BLOCK)

    def write(self, layer: int, slots: Tensor, positions: Tensor, keys: Tensor, values: Tensor) -> None:
        """Stores keys and values [rows, kv_heads, head_dim] at (slot, position) of each row."""
        self._keys[layer][slots, :, positions] = keys
        self._values[layer][slots, :, positions] = values

    def layer(self, layer: int) -> tuple[Tensor, Tensor]:
        return self._keys[layer], self._values[layer]

    def fill_from(self, other: KVCache, length: int) -> None:
        """Copies the first `length` positions of the one sequence in `other` into every slot."""
        self._keys[:, :, :, :length] = other._keys[:, :1, :, :length]
        self._values[:, :, :, :length] = other._values[:, :1, :, :length]
