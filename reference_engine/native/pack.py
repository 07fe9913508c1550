"""Lays weights out in panels of sixteen outputs, as the kernels read them (panels.h)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from reference_engine.native.library import BF16, F32, I8, LANES, Q4, Q4_MIN, Q8, Packed, packed
from reference_engine.weights.source import BlockSource, check_finite

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]


def floats(weight: Floats, bias: Floats | None = None) -> Packed:
    """weight [outputs, inputs]; in two bytes each where that loses nothing."""
    bits = np.ascontiguousarray(weight, dtype=np.float32).view(np.uint32)
    if not (bits & 0xFFFF).any():
        return packed(BF16, weight.shape, _panels((bits >> 16).astype(np.uint16)), bias=bias)
    return packed(F32, weight.shape, _panels(bits), bias=bias)


def int8_rows(codes: NDArray[np.int8], scales: Floats, bias: Floats | None = None) -> Packed:
    """codes [outputs, inputs] with one scale for each output; multiplied with int8 inputs."""
    outputs, inputs = codes.shape
    wide = _padded(codes, rows=LANES, columns=4)
    panels = wide.reshape(-1, LANES, wide.shape[1] // 4, 4).transpose(0, 2, 1, 3)
    sums = codes.sum(axis=1, dtype=np.int32)
    return packed(I8, (outputs, inputs), _bytes(panels), scales=scales, sums=sums, bias=bias)


def int8_groups(codes: NDArray[np.int8], scales: NDArray[np.float16], group: int, bias: Floats | None = None) -> Packed:
    """codes [outputs, inputs], scales [outputs, groups]; value = code · scale."""
    return packed(Q8, codes.shape, _with_heads(_grouped(codes, group), scales), group=group, bias=bias)


def int4_groups(codes: Bytes, scales: Floats, group: int, bias: Floats | None = None) -> Packed:
    """codes [outputs, inputs] of 0…15, scales [outputs, groups]; value = (code - 8) · scale."""
    return packed(Q4, codes.shape, _with_heads(_nibbles(codes, group), scales), group=group, bias=bias)


def int4_groups_with_minimum(
    codes: Bytes, scales: NDArray[np.float16], minima: NDArray[np.float16], group: int, bias: Floats | None = None
) -> Packed:
    """codes [outputs, inputs] of 0…15, scales and minima [outputs, groups]; value = code · scale + minimum."""
    return packed(Q4_MIN, codes.shape, _with_heads(_nibbles(codes, group), scales, minima), group=group, bias=bias)


def _panels(weight: NDArray[Any]) -> Bytes:
    wide = _padded(weight, rows=LANES, columns=1)
    return _bytes(wide.reshape(-1, LANES, wide.shape[1]).transpose(0, 2, 1))


def _grouped(codes: NDArray[Any], group: int) -> NDArray[Any]:
    """[panels, groups, group, 16]."""
    wide = _padded(codes, rows=LANES, columns=group)
    return wide.reshape(-1, LANES, wide.shape[1] // group, group).transpose(0, 2, 3, 1)


def _nibbles(codes: Bytes, group: int) -> Bytes:
    grouped = _grouped(codes, group)
    return np.asarray(grouped[:, :, 0::2] | grouped[:, :, 1::2] << 4, dtype=np.uint8)


def _with_heads(codes: NDArray[Any], *heads: NDArray[Any]) -> Bytes:
    """Each group of a panel as one run of bytes: the values of its sixteen outputs, then the codes."""
    count, groups = codes.shape[:2]
    runs = [_bytes(_grouped(each, 1)).reshape(count, groups, -1) for each in heads]
    return np.ascontiguousarray(np.concatenate((*runs, _bytes(codes).reshape(count, groups, -1)), axis=2)).reshape(-1)


def _padded(array: NDArray[Any], *, rows: int, columns: int) -> NDArray[Any]:
    more = [(0, -size % multiple) for size, multiple in zip(array.shape, (rows, columns), strict=True)]
    return np.pad(array, more) if any(after for _, after in more) else array


def _bytes(array: NDArray[Any]) -> Bytes:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def stored_blocks(source: BlockSource, names: Sequence[str], bias: Floats | None) -> Packed | None:
    """The tensors as one matrix in the blocks of their file, or None where the kernels do not read such blocks.

    Raises ModelFileError for a scale that is not a finite number.
    """
    blocks = [source.blocks(name) for name in names]
    kinds = {None if each is None else each.kind for each in blocks}
    known = [each.rows for each in blocks if each is not None]
    kind = kinds.pop()
    if kinds or kind not in _STORED:
        return None
    for name, rows in zip(names, known, strict=True):
        for at in _SCALES_AT[kind]:
            check_finite(source, name, torch.from_numpy(_halves(rows, at).astype(np.float32)))
    return _STORED[kind](np.concatenate(known), bias)


def _halves(blocks: Bytes, at: int) -> NDArray[np.float16]:
    """The half at byte `at` of each block, [outputs, blocks]."""
    return np.ascontiguousarray(blocks[:, :, at : at + 2]).view(np.float16)[:, :, 0]


def _flat(codes: NDArray[Any]) -> NDArray[Any]:
    return codes.reshape(len(codes), -1)


def _split_nibbles(packed_codes: Bytes) -> Bytes:
    """Blocks of bytes to codes: all low halves of a block, then all high ones."""
    return _flat(np.concatenate((packed_codes & 15, packed_codes >> 4), axis=2))


def _q8_0(blocks: Bytes, bias: Floats | None) -> Packed:
    codes = _flat(np.ascontiguousarray(blocks[:, :, 2:]).view(np.int8))
    return int8_groups(codes, _halves(blocks, 0), _GGML_BLOCK, bias)


def _q4_0(blocks: Bytes, bias: Floats | None) -> Packed:
    scales = _halves(blocks, 0).astype(np.float32)
    return int4_groups(_split_nibbles(blocks[:, :, 2:]), scales, _GGML_BLOCK, bias)


def _q4_1(blocks: Bytes, bias: Floats | None) -> Packed:
    codes = _split_nibbles(blocks[:, :, 4:])
    return int4_groups_with_minimum(codes, _halves(blocks, 0), _halves(blocks, 2), _GGML_BLOCK, bias)


_GGML_BLOCK = 32
_STORED = {"Q8_0": _q8_0, "Q4_0": _q4_0, "Q4_1": _q4_1}
_SCALES_AT = {"Q8_0": (0,), "Q4_0": (0,), "Q4_1": (0, 2)}
