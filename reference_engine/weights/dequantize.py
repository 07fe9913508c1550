"""Unpacks ggml blocks to float32, bit-equal to `gguf.quants.dequantize`.

The common formats are unpacked with tensor operations, many times faster than the `gguf` package; every other format
the package knows goes through it. Layouts: ggml-common.h, ggml-quants.c.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from reference_engine.weights.ggml import GGMLType

_BLOCKS_AT_ONCE = 32_768


def dequantize(data: memoryview, kind: GGMLType, out: Tensor) -> None:
    """Writes the values that `data` stands for into `out`, float32, contiguous, of as many elements."""
    raw = torch.frombuffer(data, dtype=torch.uint8)
    if kind.block_size == 1:
        out.view(-1).copy_(raw.view(_PLAIN[kind.name]))
        return
    unpack = _UNPACK.get(kind.name) or _by_package(kind)
    blocks, values = raw.view(-1, kind.block_bytes), out.view(-1, kind.block_size)
    for at in range(0, blocks.shape[0], _BLOCKS_AT_ONCE):
        unpack(blocks[at : at + _BLOCKS_AT_ONCE], values[at : at + _BLOCKS_AT_ONCE])


def _by_package(kind: GGMLType) -> Callable[[Tensor, Tensor], None]:
    from gguf.constants import GGMLQuantizationType
    from gguf.quants import dequantize as package_dequantize

    def unpack(blocks: Tensor, out: Tensor) -> None:
        out.copy_(torch.from_numpy(package_dequantize(blocks.numpy(), GGMLQuantizationType(kind.id))))

    return unpack


def _halves(blocks: Tensor, start: int) -> Tensor:
    """The float16 at byte `start` of each block, as a float32 column."""
    return blocks[:, start : start + 2].contiguous().view(torch.float16).float()


def _nibbles(packed: Tensor, out: Tensor) -> None:
    """Bytes [..., b] to values [..., 2b]: all low halves, then all high halves."""
    half = packed.shape[-1]
    out[..., :half] = packed & 15
    out[..., half:] = packed >> 4


def _fifth_bits(blocks: Tensor, start: int) -> Tensor:
    """[n, 32] of 0 or 16: bit i of the little-endian word at byte `start` belongs to element i."""
    word = blocks[:, start : start + 4].unsqueeze(-1)
    return ((word >> torch.arange(8, dtype=torch.uint8)) & 1).view(-1, 32) << 4


def _q4_0(blocks: Tensor, out: Tensor) -> None:
    _nibbles(blocks[:, 2:], out)
    out.sub_(8).mul_(_halves(blocks, 0))


def _q4_1(blocks: Tensor, out: Tensor) -> None:
    _nibbles(blocks[:, 4:], out)
    out.mul_(_halves(blocks, 0)).add_(_halves(blocks, 2))


def _q5_0(blocks: Tensor, out: Tensor) -> None:
    _nibbles(blocks[:, 6:], out)
    out.add_(_fifth_bits(blocks, 2)).sub_(16).mul_(_halves(blocks, 0))


def _q5_1(blocks: Tensor, out: Tensor) -> None:
    _nibbles(blocks[:, 8:], out)
    out.add_(_fifth_bits(blocks, 4)).mul_(_halves(blocks, 0)).add_(_halves(blocks, 2))


def _q8_0(blocks: Tensor, out: Tensor) -> None:
    out.copy_(blocks[:, 2:].view(torch.int8)).mul_(_halves(blocks, 0))


def _six_bit_scales(packed: Tensor) -> tuple[Tensor, Tensor]:
    """The 8 scales and 8 minima of 6 bits that Q4_K and Q5_K pack into 12 bytes, as float32 [n, 8]."""
    low, mid, high = packed[:, 0:4], packed[:, 4:8], packed[:, 8:12]
    scales = torch.cat((low & 63, (high & 15) | ((low >> 2) & 48)), dim=-1)
    minima = torch.cat((mid & 63, (high >> 4) | ((mid >> 2) & 48)), dim=-1)
    return scales.float(), minima.float()


def _scale_eighths(blocks: Tensor, out: Tensor) -> None:
    """x = (d·scale)·q − dmin·min for values `out` [n, 8, 32]."""
    scales, minima = _six_bit_scales(blocks[:, 4:16])
    out.mul_((_halves(blocks, 0) * scales).unsqueeze(-1)).sub_((_halves(blocks, 2) * minima).unsqueeze(-1))


def _q4_k(blocks: Tensor, out: Tensor) -> None:
    _nibbles(blocks[:, 16:].reshape(-1, 4, 32), out.view(-1, 4, 64))
    _scale_eighths(blocks, out.view(-1, 8, 32))


def _q5_k(blocks: Tensor, out: Tensor) -> None:
    bits = torch.arange(8, dtype=torch.uint8).view(1, 8, 1)
    _nibbles(blocks[:, 48:].reshape(-1, 4, 32), out.view(-1, 4, 64))
    eighths = out.view(-1, 8, 32)
    eighths.add_(((blocks[:, 16:48].unsqueeze(1) >> bits) & 1) << 4)
    _scale_eighths(blocks, eighths)


def _q6_k(blocks: Tensor, out: Tensor) -> None:
    _nibbles(blocks[:, :128].reshape(-1, 2, 64), out.view(-1, 2, 128))
    shifts = torch.tensor([0, 2, 4, 6], dtype=torch.uint8).view(1, 1, 4, 1)
    high = (blocks[:, 128:192].reshape(-1, 2, 1, 32) >> shifts) & 3
    scales = blocks[:, 192:208].contiguous().view(torch.int8).float() * _halves(blocks, 208)
    out.view(-1, 2, 4, 32).add_(high << 4)
    out.view(-1, 16, 16).sub_(32).mul_(scales.unsqueeze(-1))


_PLAIN = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
_UNPACK: dict[str, Callable[[Tensor, Tensor], None]] = {
    "Q4_0": _q4_0,
    "Q4_1": _q4_1,
    "Q5_0": _q5_0,
    "Q5_1": _q5_1,
    "Q8_0": _q8_0,
    "Q4_K": _q4_k,
    "Q5_K": _q5_k,
    "Q6_K": _q6_k,
}
