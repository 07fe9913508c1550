"""Weights of the bundled model, altered as they are read: noise, pruning, dropped layers, another initialisation.

Each is a WeightSource over another one, so that the engine scores and serves an altered model as it does any other.
Random numbers depend on the seed and the tensor's name, never on the order of reading.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from reference_engine.model.config import ModelConfig
from reference_engine.model.layout import EMBEDDING, HEAD
from reference_engine.weights.source import Blocks, WeightSource

_ATTENTION = ("attn_q", "attn_k", "attn_v", "attn_output")
_MLP = ("ffn_gate", "ffn_up", "ffn_down")


@dataclass(frozen=True, slots=True)
class Alteration:
    """`alter` changes in place the float32 tensor of each name that `touches` is true of."""

    label: str
    touches: Callable[[str], bool]
    alter: Callable[[str, Tensor], object]


class AlteredSource:
    """Implements WeightSource."""

    def __init__(self, source: WeightSource, alteration: Alteration) -> None:
        self._source = source
        self._alteration = alteration
        self.path: Path = source.path
        self.format = f"{source.format}, {alteration.label}"
        self.config = source.config

    def read(self, name: str, out: Tensor) -> None:
        self._source.read(name, out)
        if self._alteration.touches(name):
            self._alteration.alter(name, out)

    def blocks(self, name: str) -> Blocks | None:
        return None if self._alteration.touches(name) else self._source.blocks(name)

    def rope_factors(self) -> Tensor | None:
        return self._source.rope_factors()

    def sha256(self) -> str:
        return _digest(self._source.sha256(), self._alteration.label)


class ShortenedSource:
    """Implements WeightSource: the model without some of its layers."""

    def __init__(self, source: WeightSource, dropped: frozenset[int]) -> None:
        self._source = source
        self._kept = [layer for layer in range(source.config.n_layers) if layer not in dropped]
        self.path: Path = source.path
        self.format = source.format
        self.config: ModelConfig = replace(
            source.config,
            n_layers=len(self._kept),
            windows=tuple(source.config.windows[layer] for layer in self._kept),
        )

    def read(self, name: str, out: Tensor) -> None:
        self._source.read(self._stored(name), out)

    def blocks(self, name: str) -> Blocks | None:
        return self._source.blocks(self._stored(name))

    def rope_factors(self) -> Tensor | None:
        return self._source.rope_factors()

    def sha256(self) -> str:
        return _digest(self._source.sha256(), f"layers {self._kept}")

    def _stored(self, name: str) -> str:
        if not name.startswith("blk."):
            return name
        _, layer, rest = name.split(".", 2)
        return f"blk.{self._kept[int(layer)]}.{rest}"


def weight_noise(scale: float, seed: int = 0) -> Alteration:
    """Normal noise on the matrices of all linear layers, `scale` times the standard deviation of each matrix."""

    def alter(name: str, weight: Tensor) -> None:
        noise = torch.randn(weight.shape, generator=_generator(seed, name))
        weight.add_(noise, alpha=scale * float(weight.std()))

    return Alteration(f"noise {scale} of sd, seed {seed}", is_linear, alter)


def pruned_smallest(share: float) -> Alteration:
    """The share of weights of each MLP matrix that are smallest in size is set to zero."""

    def alter(name: str, weight: Tensor) -> None:  # noqa: ARG001
        count = round(share * weight.numel())
        if count:
            limit = weight.abs().flatten().kthvalue(count).values
            weight[weight.abs() <= limit] = 0.0

    return Alteration(f"smallest {share} of MLP weights pruned", is_mlp, alter)


def pruned_at_random(share: float, seed: int = 0) -> Alteration:
    """Each weight of an MLP matrix is set to zero with chance `share`."""

    def alter(name: str, weight: Tensor) -> None:
        weight[torch.rand(weight.shape, generator=_generator(seed, name)) < share] = 0.0

    return Alteration(f"random {share} of MLP weights pruned, seed {seed}", is_mlp, alter)


def rounded_to_bf16() -> Alteration:
    """The matrices of linear layers in bf16, computed with in float32 (the profile `bf16` also computes in bf16)."""
    return Alteration("bf16 weights", is_linear, lambda _, weight: weight.copy_(weight.to(torch.bfloat16).float()))


def initialised_anew(seed: int = 0) -> Alteration:
    """Every matrix is drawn anew from a normal distribution of its own standard deviation: another model."""

    def alter(name: str, weight: Tensor) -> None:
        weight.copy_(torch.randn(weight.shape, generator=_generator(seed, name)) * weight.std())

    return Alteration(
        f"initialised anew, seed {seed}", lambda name: is_linear(name) or name in (EMBEDDING, HEAD), alter
    )


def replaced(label: str, tensors: dict[str, Tensor]) -> Alteration:
    return Alteration(label, tensors.__contains__, lambda name, weight: weight.copy_(tensors[name]))


def is_linear(name: str) -> bool:
    return name.endswith(".weight") and _part(name) in _ATTENTION + _MLP


def is_mlp(name: str) -> bool:
    return name.endswith(".weight") and _part(name) in _MLP


def _part(name: str) -> str:
    return name.split(".")[-2]


def _generator(seed: int, name: str) -> torch.Generator:
    digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "little") >> 1)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
