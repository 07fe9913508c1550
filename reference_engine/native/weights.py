"""A model's weights under a profile, packed for the kernels: in the file's own blocks where nothing is altered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reference_engine.model.config import ModelConfig
from reference_engine.model.groups import places_of_layers
from reference_engine.model.layout import EMBEDDING, FINAL_NORM, HEAD, block_name, expected_tensors
from reference_engine.model.rope import inverse_frequencies
from reference_engine.native import pack
from reference_engine.native.library import ACTIVATIONS, KEYS_AND_VALUES, Layer, Model, Packed
from reference_engine.native.slabs import Slabs
from reference_engine.profile import NumericsProfile
from reference_engine.weights.quantize import alteration, as_bf16, int4_codes, int8_codes
from reference_engine.weights.source import WeightSource, check_finite

Floats = NDArray[np.float32]

_QKV = ("attn_q", "attn_k", "attn_v")
_GATE_UP = ("ffn_gate", "ffn_up")


@dataclass(frozen=True, slots=True)
class NativeWeights:
    """`model` points into `kept`."""

    model: Model
    kept: tuple[Any, ...]
    nbytes: int


class _Loader:
    """Reads, alters and packs one matrix after the other; only one is in memory as floats at a time."""

    def __init__(self, source: WeightSource, profile: NumericsProfile) -> None:
        self._source = source
        self._profile = profile
        self._shapes = expected_tensors(source.config)
        self._slabs = Slabs()
        self.kept: list[Any] = []
        self.nbytes = 0

    def vector(self, name: str) -> Any:
        return self.keep(_array(self._rounded(self._read(name)))).ctypes.data

    def optional(self, name: str) -> Any:
        return self.vector(name) if name in self._shapes else None

    def linear(self, layer: int, parts: Sequence[str]) -> Any:
        """The matrices that share an input, joined; each is altered by itself."""
        names = [block_name(layer, part) for part in parts]
        biases = [block_name(layer, part, "bias") for part in parts]
        bias = None
        if biases[0] in self._shapes:
            bias = _array(self._rounded(torch.cat([self._read(name) for name in biases])))
        return self.packed(self._packed_linear(names, bias))

    def table(self, name: str) -> Packed:
        """The embedding or the head, which no profile quantizes."""
        stored = pack.stored_blocks(self._source, [name], None)
        if stored is not None and self._profile.weights != "bf16":
            return stored
        return pack.floats(_array(self._rounded(self._read(name))))

    def packed(self, matrix: Packed) -> Any:
        moved = matrix.moved(self._slabs.copied)
        self.kept.append(moved)
        self.nbytes += moved.nbytes
        return moved.view

    def keep(self, array: NDArray[Any]) -> NDArray[Any]:
        self.kept.append(array)
        self.nbytes += array.nbytes
        return array

    def _packed_linear(self, names: Sequence[str], bias: Floats | None) -> Packed:
        profile = self._profile
        if profile.weights == "as-stored":
            stored = pack.stored_blocks(self._source, names, bias)
            return stored or pack.floats(self._joined(names, lambda weight: weight), bias)
        if profile.weights == "int8-channel" and profile.activations == "int8-row":
            parts = [int8_codes(self._read(name)) for name in names]
            codes, scales = (torch.cat([part[index] for part in parts]) for index in (0, 1))
            return pack.int8_rows(_array(codes), _array(scales.flatten()), bias)
        if profile.weights == "int4-group" and profile.group_size is not None:
            parts = [int4_codes(self._read(name), profile.group_size) for name in names]
            codes, scales = (torch.cat([part[index] for part in parts]) for index in (0, 1))
            return pack.int4_groups(_array(codes), _array(scales), profile.group_size, bias)
        return pack.floats(self._joined(names, alteration(profile)), bias)

    def _joined(self, names: Sequence[str], alter: Callable[[Tensor], Tensor]) -> Floats:
        return _array(torch.cat([alter(self._read(name)) for name in names]))

    def _read(self, name: str) -> Tensor:
        out = torch.empty(self._shapes[name])
        self._source.read(name, out)
        check_finite(self._source, name, out)
        return out

    def _rounded(self, values: Tensor) -> Tensor:
        return as_bf16(values) if self._profile.weights == "bf16" else values


@torch.inference_mode()
def native_weights(source: WeightSource, profile: NumericsProfile) -> NativeWeights:
    config, loader = source.config, _Loader(source, profile)
    layers = (Layer * config.n_layers)()
    for index, place in enumerate(places_of_layers(config)):
        _fill_layer(layers[index], index, loader)
        layers[index].window = config.windows[index]
        layers[index].group, layers[index].index = place
    embedding = loader.packed(loader.table(EMBEDDING))
    head = embedding if config.tied_head else loader.packed(loader.table(HEAD))
    cosines, sines = (loader.keep(each) for each in _turns(config, source))
    model = Model(
        config.hidden_size,
        config.intermediate_size,
        config.n_layers,
        config.n_heads,
        config.n_kv_heads,
        config.head_dim,
        ACTIVATIONS[profile.activations],
        KEYS_AND_VALUES[profile.kv],
        config.rms_eps,
        cosines.ctypes.data,
        sines.ctypes.data,
        layers,
        loader.vector(FINAL_NORM),
        embedding,
        head,
    )
    return NativeWeights(model, (layers, *loader.kept), loader.nbytes)


def _fill_layer(layer: Layer, index: int, loader: _Loader) -> None:
    layer.attention_norm = loader.vector(block_name(index, "attn_norm"))
    layer.qkv = loader.linear(index, _QKV)
    layer.q_norm = loader.optional(block_name(index, "attn_q_norm"))
    layer.k_norm = loader.optional(block_name(index, "attn_k_norm"))
    layer.output = loader.linear(index, ("attn_output",))
    layer.feed_norm = loader.vector(block_name(index, "ffn_norm"))
    layer.gate_up = loader.linear(index, _GATE_UP)
    layer.down = loader.linear(index, ("ffn_down",))


def _turns(config: ModelConfig, source: WeightSource) -> tuple[Floats, Floats]:
    """Cosines and sines [context, head_dim / 2] of float32 angles, each rounded once from float64."""
    frequencies = inverse_frequencies(config, source.rope_factors()).float()
    angles = (torch.arange(config.context_length).float().unsqueeze(-1) * frequencies).double()
    return _array(angles.cos().float()), _array(angles.sin().float())


def _array(values: Tensor) -> NDArray[Any]:
    return np.ascontiguousarray(values.numpy())
