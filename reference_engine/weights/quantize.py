"""Alters weights as a profile says: rounds a matrix to a coarser format and returns what that format stands for.

Every function takes and returns float32 [out, in] and rounds to nearest; none keeps state.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from reference_engine.profile import NumericsProfile

# The 16 levels of NF4: quantiles of a normal distribution, scaled to [-1, 1] (QLoRA, arXiv 2305.14314, appendix E).
_NF4_LEVELS = (
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
)
_FP8_E4M3_MAX = 448.0


def alteration(profile: NumericsProfile) -> Callable[[Tensor], Tensor]:
    """The function that alters one weight matrix of a linear layer under `profile`."""
    group = profile.group_size
    if group is None:
        return _UNGROUPED[profile.weights]
    grouped = _GROUPED[profile.weights]
    return lambda weight: _by_groups(weight, group, grouped)


def as_bf16(weight: Tensor) -> Tensor:
    return weight.to(torch.bfloat16).float()


def _scale(largest: Tensor, steps: float) -> Tensor:
    """The step that maps `largest` to `steps`; 1 where all values are zero, so that zeros stay zeros."""
    return torch.where(largest > 0, largest / steps, torch.ones(()))


def int8_codes(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Codes int8 [out, in] and scales [out, 1]: what `int8-channel` makes of a weight is their product."""
    scale = _scale(weight.abs().amax(dim=1, keepdim=True), 127)
    return (weight / scale).round_().to(torch.int8), scale


def int4_codes(weight: Tensor, group: int) -> tuple[Tensor, Tensor]:
    """Codes uint8 [out, in] of 0…15 and scales [out, groups]: `int4-group` makes (code - 8) · scale of a weight."""
    rows, width = weight.shape
    whole = torch.nn.functional.pad(weight, (0, -width % group)).view(rows, -1, group)
    scale = _int4_scale(whole)
    codes = (whole / scale).round_().clamp_(-8, 7).add_(8).to(torch.uint8)
    return codes.view(rows, -1)[:, :width], scale.squeeze(-1)


def _int8_channel(weight: Tensor) -> Tensor:
    codes, scale = int8_codes(weight)
    return codes.float().mul_(scale)


def _int8_tensor(weight: Tensor) -> Tensor:
    scale = _scale(weight.abs().amax(), 127)
    return (weight / scale).round_().mul_(scale)


def _fp8_channel(weight: Tensor) -> Tensor:
    scale = _scale(weight.abs().amax(dim=1, keepdim=True), _FP8_E4M3_MAX)
    return (weight / scale).to(torch.float8_e4m3fn).float().mul_(scale)


def _by_groups(weight: Tensor, group: int, alter: Callable[[Tensor], Tensor]) -> Tensor:
    """Alters each run of `group` inputs of a row by itself; the last run of a row may be shorter."""
    rows, width = weight.shape
    whole = width // group * group
    parts = [alter(weight[:, :whole].reshape(rows, -1, group)).view(rows, whole)]
    if whole < width:
        parts.append(alter(weight[:, whole:].unsqueeze(1)).squeeze(1))
    return torch.cat(parts, dim=1)


def _int4_scale(groups: Tensor) -> Tensor:
    return _scale(groups.abs().amax(dim=-1, keepdim=True), 7)


def _int4_group(groups: Tensor) -> Tensor:
    scale = _int4_scale(groups)
    return (groups / scale).round_().clamp_(-8, 7).mul_(scale)


def _nf4_group(groups: Tensor) -> Tensor:
    scale = _scale(groups.abs().amax(dim=-1, keepdim=True), 1)
    levels = torch.tensor(_NF4_LEVELS)
    borders = (levels[1:] + levels[:-1]) / 2
    return levels[torch.bucketize(groups / scale, borders)].mul_(scale)


_UNGROUPED: dict[str, Callable[[Tensor], Tensor]] = {
    "bf16": as_bf16,
    "int8-channel": _int8_channel,
    "int8-tensor": _int8_tensor,
    "fp8-e4m3-channel": _fp8_channel,
}
_GROUPED: dict[str, Callable[[Tensor], Tensor]] = {"int4-group": _int4_group, "nf4-group": _nf4_group}
