"""The weights of a decoder as tensors, joined where they share an input."""

from __future__ import annotations

from dataclasses import dataclass, fields

from torch import Tensor


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """Weights of one block, [out, in]; query, key and value rows are joined, so are gate and up rows."""

    attn_norm: Tensor
    qkv: Tensor
    qkv_bias: Tensor | None
    q_norm: Tensor | None
    k_norm: Tensor | None
    output: Tensor
    output_bias: Tensor | None
    ffn_norm: Tensor
    gate_up: Tensor
    down: Tensor


@dataclass(frozen=True, slots=True)
class ModelWeights:
    """All weights of a decoder. `head` is the embedding itself where the model ties them."""

    embedding: Tensor
    layers: tuple[LayerWeights, ...]
    final_norm: Tensor
    head: Tensor
    rope_frequencies: Tensor

    @property
    def nbytes(self) -> int:
        parts = [getattr(layer, field.name) for layer in self.layers for field in fields(layer)]
        distinct = {id(part): part for part in (self.embedding, self.head, self.final_norm, *parts) if part is not None}
        return sum(part.nbytes for part in distinct.values())
