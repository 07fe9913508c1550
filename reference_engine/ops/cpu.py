"""The decoder's operations on a CPU, in float32.

Attention goes through the keys in fixed blocks of absolute positions and updates a running softmax, so that a row's
shapes and summation order never depend on the rows beside it, on how the prompt was cut into chunks, or on padding.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

KEY_BLOCK = 64
ROW_MULTIPLE = 4
"""With MKL on an AMD Zen 3, a matrix product gives a row the same bits in any batch once the number of rows is a
multiple of four. On an Intel with AVX-512 it does not: a row's last bits hang on the number of rows beside it."""

_QUERY_TILE = 256


def padded_rows(rows: int) -> int:
    return (rows + ROW_MULTIPLE - 1) // ROW_MULTIPLE * ROW_MULTIPLE


def with_padding(x: Tensor) -> Tensor:
    """`x` with rows of zeros after it, up to a multiple of ROW_MULTIPLE."""
    missing = padded_rows(x.shape[0]) - x.shape[0]
    return torch.cat((x, x.new_zeros((missing, *x.shape[1:])))) if missing else x


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return functional.linear(x, weight, bias)


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return functional.rms_norm(x, (weight.shape[0],), weight, eps)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding of heads x [rows, heads, head_dim] by cos and sin [rows, head_dim]."""
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos.unsqueeze(1) + turned * sin.unsqueeze(1)


def silu(x: Tensor) -> Tensor:
    return functional.silu(x)


def attend(q: Tensor, keys: Tensor, values: Tensor, positions: Tensor) -> Tensor:
    """Causal grouped-query attention over cached keys and values.

    q [slots, rows, heads, head_dim]; keys, values [slots, kv_heads, capacity, head_dim] with capacity a multiple of
    KEY_BLOCK and finite everywhere; positions [slots, rows] are the queries' absolute positions: a query sees the keys
    at or before its own. Returns [slots, rows, heads, head_dim].
    """
    tiles = [
        _attend_tile(q[:, at : at + _QUERY_TILE], keys, values, positions[:, at : at + _QUERY_TILE])
        for at in range(0, q.shape[1], _QUERY_TILE)
    ]
    return tiles[0] if len(tiles) == 1 else torch.cat(tiles, dim=1)


def _attend_tile(q: Tensor, keys: Tensor, values: Tensor, positions: Tensor) -> Tensor:
    slots, rows, heads, head_dim = q.shape
    kv_heads = keys.shape[1]
    group = heads // kv_heads
    used = group * rows
    grouped = q.view(slots, rows, kv_heads, group, head_dim).permute(0, 2, 1, 3, 4).reshape(-1, used, head_dim)
    seen = positions.unsqueeze(-1).expand(slots, rows, group).reshape(slots, 1, used)
    seen = seen.expand(slots, kv_heads, used).reshape(-1, used, 1)
    if used % ROW_MULTIPLE:
        missing = padded_rows(used) - used
        grouped, seen = functional.pad(grouped, (0, 0, 0, missing)), functional.pad(seen, (0, 0, 0, missing))
    flat_keys, flat_values = keys.flatten(0, 1), values.flatten(0, 1)
    out = _running_softmax(grouped * head_dim**-0.5, flat_keys, flat_values, seen)[:, :used]
    return out.view(slots, kv_heads, rows, group, head_dim).permute(0, 2, 1, 3, 4).reshape(q.shape)


def _running_softmax(q: Tensor, keys: Tensor, values: Tensor, seen: Tensor) -> Tensor:
    """q [n, m, d]; keys, values [n, capacity, d]; seen [n, m, 1], the last key position each query may look at."""
    nearest, furthest = int(seen.min()), int(seen.max())
    offsets = torch.arange(KEY_BLOCK)
    largest = q.new_full((*q.shape[:2], 1), float("-inf"))
    total, mixed = torch.zeros_like(largest), torch.zeros_like(q)
    for start in range(0, furthest + 1, KEY_BLOCK):
        scores = torch.bmm(q, keys[:, start : start + KEY_BLOCK].transpose(1, 2))
        if nearest < start + KEY_BLOCK - 1:
            scores.masked_fill_(offsets + start > seen, float("-inf"))
        grown = torch.maximum(largest, scores.amax(dim=-1, keepdim=True))
        shrink = (largest - grown).exp_()
        weights = scores.sub_(grown).exp_()
        total.mul_(shrink).add_(weights.sum(dim=-1, keepdim=True))
        mixed.mul_(shrink).add_(torch.bmm(weights, values[:, start : start + KEY_BLOCK]))
        largest = grown
    return mixed.div_(total)
