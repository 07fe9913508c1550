"""Holds the weights of a model under each profile in use: the stored ones always, altered copies as memory allows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from reference_engine.model.config import ModelConfig
from reference_engine.model.layout import EMBEDDING, FINAL_NORM, HEAD, block_name, expected_tensors
from reference_engine.model.rope import inverse_frequencies
from reference_engine.model.tensors import LayerWeights, ModelWeights
from reference_engine.profile import NumericsProfile
from reference_engine.weights.arena import Arena
from reference_engine.weights.quantize import alteration, as_bf16
from reference_engine.weights.source import WeightSource, check_finite

_QKV = ("attn_q", "attn_k", "attn_v")
_GATE_UP = ("ffn_gate", "ffn_up")


class WeightStore:
    """`weights(profile)` builds what is missing; of the altered copies only the `kept` last used stay in memory.

    Not safe for several threads at once: the engine calls it under its lock.
    """

    def __init__(self, source: WeightSource, *, kept: int) -> None:
        self._config = source.config
        self._stored = read_weights(source)
        self._altered: OrderedDict[tuple[str, int | None], ModelWeights] = OrderedDict()
        self._kept = max(kept, 1)

    def weights(self, profile: NumericsProfile) -> ModelWeights:
        if not profile.alters_weights:
            return self._stored
        recipe = (profile.weights, profile.group_size)
        known = self._altered.pop(recipe, None)
        if known is None:
            while len(self._altered) >= self._kept:
                self._altered.popitem(last=False)
            known = altered_weights(self._config, self._stored, profile)
        self._altered[recipe] = known
        return known


@torch.inference_mode()
def read_weights(source: WeightSource) -> ModelWeights:
    """The weights as stored, in float32, with the matrices that share an input joined."""
    config, shapes = source.config, expected_tensors(source.config)
    arena = Arena(list(shapes.values()))

    def read(*names: str) -> Tensor:
        rows = [shapes[name][0] for name in names]
        joined = arena.take(sum(rows), *shapes[names[0]][1:])
        for name, part in zip(names, torch.split(joined, rows), strict=True):
            source.read(name, part)
            check_finite(source, name, part)
        return joined

    embedding = read(EMBEDDING)
    return ModelWeights(
        embedding=embedding,
        layers=tuple(_read_layer(config, layer, read) for layer in range(config.n_layers)),
        final_norm=read(FINAL_NORM),
        head=embedding if config.tied_head else read(HEAD),
        rope_frequencies=inverse_frequencies(config, source.rope_factors()),
    )


def _read_layer(config: ModelConfig, layer: int, read: Callable[..., Tensor]) -> LayerWeights:
    def weight(*parts: str) -> Tensor:
        return read(*(block_name(layer, part) for part in parts))

    def bias(*parts: str) -> Tensor:
        return read(*(block_name(layer, part, "bias") for part in parts))

    return LayerWeights(
        attn_norm=weight("attn_norm"),
        qkv=weight(*_QKV),
        qkv_bias=bias(*_QKV) if config.qkv_bias else None,
        q_norm=weight("attn_q_norm") if config.family.qk_norm else None,
        k_norm=weight("attn_k_norm") if config.family.qk_norm else None,
        output=weight("attn_output"),
        output_bias=bias("attn_output") if config.output_bias else None,
        ffn_norm=weight("ffn_norm"),
        gate_up=weight(*_GATE_UP),
        down=weight("ffn_down"),
    )


@torch.inference_mode()
def altered_weights(config: ModelConfig, stored: ModelWeights, profile: NumericsProfile) -> ModelWeights:
    """A copy of `stored` under `profile`; tensors that the profile leaves alone are shared.

    Joined matrices are altered one by one: a scale belongs to the matrix that the model's authors know.
    """
    alter = alteration(profile)
    arena = Arena(
        [part.shape for layer in stored.layers for part in (layer.qkv, layer.output, layer.gate_up, layer.down)]
    )

    def altered(joined: Tensor, *rows: int) -> Tensor:
        out = arena.take(*joined.shape)
        for part, target in zip(torch.split(joined, list(rows)), torch.split(out, list(rows)), strict=True):
            target.copy_(alter(part))
        return out

    def altered_layer(layer: LayerWeights) -> LayerWeights:
        return replace(
            layer,
            qkv=altered(layer.qkv, config.q_size, config.kv_size, config.kv_size),
            output=altered(layer.output, config.hidden_size),
            gate_up=altered(layer.gate_up, config.intermediate_size, config.intermediate_size),
            down=altered(layer.down, config.hidden_size),
        )

    weights = replace(stored, layers=tuple(altered_layer(layer) for layer in stored.layers))
    return _all_bf16(weights) if profile.weights == "bf16" else weights


def _all_bf16(weights: ModelWeights) -> ModelWeights:
    """Rounds what is not a linear layer's matrix: a bf16 stack stores every tensor so."""
    embedding = as_bf16(weights.embedding)
    return replace(
        weights,
        embedding=embedding,
        head=embedding if weights.head is weights.embedding else as_bf16(weights.head),
        final_norm=as_bf16(weights.final_norm),
        layers=tuple(_bf16_vectors(layer) for layer in weights.layers),
    )


def _bf16_vectors(layer: LayerWeights) -> LayerWeights:
    names = ("attn_norm", "qkv_bias", "q_norm", "k_norm", "output_bias", "ffn_norm")
    vectors = {name: getattr(layer, name) for name in names}
    return replace(layer, **{name: as_bf16(value) for name, value in vectors.items() if value is not None})
