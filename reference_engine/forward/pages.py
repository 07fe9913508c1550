"""How keys and values lie in a page of the arena, and how they are moved in and out of it.

A page is, layer by layer of its group, one record for each of its PAGE tokens: the keys of all heads, their values,
and for int8 the float32 scales of both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reference_engine.forward.batch import PAGE
from reference_engine.model.config import ModelConfig
from reference_engine.model.groups import layer_groups
from reference_engine.ops.integer import int8_rows
from reference_engine.profile import KVFormat, NumericsProfile

WORD = 8
"""Bytes that records are a multiple of, and that pages must start at a multiple of."""

# The format has no infinity; what lies beyond becomes nan in some versions of torch and the largest value in others.
_FP8_LARGEST = 448.0
_STORED: dict[KVFormat, torch.dtype] = {
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp8-e4m3": torch.float8_e4m3fn,
    "int8": torch.int8,
    "fp64": torch.float64,
}


def layer_bytes(config: ModelConfig, profile: NumericsProfile) -> int:
    """What a page takes for each of its layers: keys and values of PAGE tokens."""
    return PAGE * Record(config, profile.kv).size


def page_bytes(config: ModelConfig, profile: NumericsProfile) -> int:
    """The size of a page of all layers."""
    return config.n_layers * layer_bytes(config, profile)


def by_groups(config: ModelConfig, profile: NumericsProfile, pages: NDArray[np.int64]) -> NDArray[np.int64]:
    """[layer groups, pages]: where in pages of all layers each group's layers lie."""
    sizes = [len(group.layers) * layer_bytes(config, profile) for group in layer_groups(config)]
    return np.cumsum([0, *sizes[:-1]])[:, None] + pages


class Record:
    """The keys and values of one token in one layer, as bytes."""

    def __init__(self, config: ModelConfig, kv: KVFormat) -> None:
        self._kv = kv
        self._dtype = _STORED[kv]
        self._heads = (config.n_kv_heads, config.head_dim)
        self._side = config.kv_size * self._dtype.itemsize
        self._scales = 2 * config.n_kv_heads * 4 if kv == "int8" else 0
        self.size = -(-(2 * self._side + self._scales) // WORD) * WORD

    def pack(self, keys: Tensor, values: Tensor) -> Tensor:
        """uint8 [rows, size] of keys and values [rows, kv_heads, head_dim]."""
        rows = keys.shape[0]
        both = torch.stack((keys, values), dim=1)
        if self._kv == "int8":
            whole, scales = int8_rows(both.flatten(0, 2))
            parts = [_bytes(whole.to(torch.int8), rows), _bytes(scales, rows)]
        elif self._kv == "fp8-e4m3":
            parts = [_bytes(both.clamp(-_FP8_LARGEST, _FP8_LARGEST).to(self._dtype), rows)]
        else:
            parts = [_bytes(both.to(self._dtype), rows)]
        filling = self.size - sum(part.shape[1] for part in parts)
        return torch.cat([*parts, parts[0].new_zeros((rows, filling))], dim=1)

    def unpack(self, records: Tensor, to: torch.dtype) -> tuple[Tensor, Tensor]:
        """Keys and values [..., kv_heads, head_dim] of records uint8 [..., size]."""
        sides = [records[..., at : at + self._side].view(self._dtype) for at in (0, self._side)]
        keys, values = (torch.unflatten(side, -1, self._heads).to(to) for side in sides)
        if self._scales:
            end = 2 * self._side + self._scales
            scales = torch.unflatten(records[..., 2 * self._side : end].view(torch.float32), -1, (2, self._heads[0], 1))
            keys, values = keys * scales[..., 0, :, :], values * scales[..., 1, :, :]
        return keys, values


def _bytes(values: Tensor, rows: int) -> Tensor:
    return values.contiguous().view(rows, -1).view(torch.uint8)


@dataclass(frozen=True, slots=True)
class Runs:
    """Equal runs of bytes in the arena, each repeated at the same distance for every layer.

    They are moved as rows of the widest unit that their size and all their places are whole multiples of.
    """

    rows: Tensor
    units: Tensor
    units_per_layer: int

    @staticmethod
    def at(arena: Tensor, starts: NDArray[np.int64], size: int, layer_bytes: int) -> Runs:
        """`starts` [n] are byte offsets of the runs in layer 0; the distance `layer_bytes` is a multiple of `size`."""
        unit = math.gcd(size, int(np.gcd.reduce(starts, initial=0)))
        if unit % WORD:
            raise ValueError(f"pages have to start at multiples of {WORD} bytes")
        words = arena[: arena.shape[0] // unit * unit].view(torch.int64).view(-1, unit // WORD)
        units = torch.from_numpy(starts // unit).unsqueeze(1) + torch.arange(size // unit)
        return Runs(words, units, layer_bytes // unit)

    def read(self, layer: int) -> Tensor:
        """uint8 [n, size]."""
        words = self.rows.index_select(0, (self.units + layer * self.units_per_layer).flatten())
        return words.view(self.units.shape[0], -1).view(torch.uint8)

    def write(self, layer: int, data: Tensor) -> None:
        """Stores uint8 [n, size]."""
        words = data.view(torch.int64).view(-1, self.rows.shape[1])
        self.rows[(self.units + layer * self.units_per_layer).flatten()] = words
