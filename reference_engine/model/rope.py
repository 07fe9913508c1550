"""Rotary position embedding: frequencies with their scalings, and the cosine and sine of each position."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from reference_engine.model.config import ModelConfig, RopeScaling


def inverse_frequencies(config: ModelConfig, factors: Tensor | None) -> Tensor:
    """[head_dim / 2] float32. `factors`, as GGUF files carry them, divide the frequencies one by one."""
    steps = torch.arange(0, config.head_dim, 2, dtype=torch.int64).float() / config.head_dim
    frequencies = 1.0 / (config.rope_theta**steps)
    if factors is not None:
        return frequencies / factors
    if config.rope_scaling is None:
        return frequencies
    if config.rope_scaling.kind == "linear":
        return frequencies / config.rope_scaling.factor
    return _llama3(frequencies, config.rope_scaling)


def _llama3(frequencies: Tensor, scaling: RopeScaling) -> Tensor:
    """Long wavelengths are stretched by `factor`, short ones kept, those between interpolated (Llama 3.1)."""
    wavelengths = 2 * math.pi / frequencies
    longest = scaling.original_context / scaling.low_freq_factor
    shortest = scaling.original_context / scaling.high_freq_factor
    blend = (scaling.original_context / wavelengths - scaling.low_freq_factor) / (
        scaling.high_freq_factor - scaling.low_freq_factor
    )
    between = (1 - blend) * frequencies / scaling.factor + blend * frequencies
    stretched = torch.where(wavelengths > longest, frequencies / scaling.factor, between)
    return torch.where(wavelengths < shortest, frequencies, stretched)


def cos_sin(frequencies: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    """[rows, head_dim] each, for positions [rows]; the two halves of a head share their angles.

    In the format of the frequencies.
    """
    angles = positions.to(frequencies.dtype).unsqueeze(-1) * frequencies
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos(), angles.sin()


def undo_interleaving(rows: Tensor, heads: int) -> Tensor:
    """Query or key rows in llama.cpp's interleaved order, [heads·head_dim, …], put back into two halves per head."""
    pairs = rows.view(heads, rows.shape[0] // heads // 2, 2, *rows.shape[1:])
    return pairs.transpose(1, 2).reshape(rows.shape)
