"""Causal grouped-query attention of a batch's rows over the pages of their sequences.

The rows of a sequence are cut into tiles; tiles of like width go through the keys together, block by block in absolute
positions. Which tiles stand together changes the shapes of no product of one tile: only how many are done at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from reference_engine.forward.arithmetic import Arithmetic
from reference_engine.forward.batch import PAGE, Batch
from reference_engine.forward.pages import Record, Runs
from reference_engine.model.config import ModelConfig
from reference_engine.ops.cpu import RunningSoftmax, SplitSoftmax, padded_rows

_TILE = 64


@dataclass(frozen=True, slots=True)
class TileGroup:
    """Tiles of one width, the furthest first, so that those which still have keys are always the first ones.

    rows [tiles, width] are the rows of each tile, filled up with its first; seen [tiles, width] their positions; firsts
    and lasts [tiles] the first and the last position of each tile; places are the indexes into tiles · width where a
    row is no filling. `pages` holds for each block of keys, from number `first_block` on, the pages of the tiles that
    reach it. A row looks at `window` keys, itself included; 0 for all.
    """

    rows: Tensor
    seen: Tensor
    firsts: NDArray[np.int32]
    lasts: NDArray[np.int32]
    places: Tensor
    window: int
    first_block: int
    pages: tuple[Runs, ...]


@dataclass(frozen=True, slots=True)
class _Tile:
    start: int
    width: int
    owner: int


def tile_groups(
    batch: Batch, tables: NDArray[np.int64], window: int, arena: Tensor, record: Record, key_block: int
) -> list[TileGroup]:
    """`tables` [sequences, pages] are those of the layers with this window."""
    by_width: dict[int, list[_Tile]] = defaultdict(list)
    for tile in _tiles(batch.owners):
        by_width[1 << (tile.width - 1).bit_length()].append(tile)
    return [
        _group(tiles, width, batch, tables, window, arena, record, key_block)
        for width, tiles in sorted(by_width.items())
    ]


def _tiles(owners: NDArray[np.int32]) -> Iterator[_Tile]:
    borders = [0, *(np.flatnonzero(np.diff(owners)) + 1).tolist(), len(owners)]
    for start, end in pairwise(borders):
        for at in range(start, end, _TILE):
            yield _Tile(at, min(_TILE, end - at), int(owners[start]))


def _group(
    tiles: list[_Tile],
    width: int,
    batch: Batch,
    tables: NDArray[np.int64],
    window: int,
    arena: Tensor,
    record: Record,
    key_block: int,
) -> TileGroup:
    tiles = sorted(tiles, key=lambda tile: (-int(batch.positions[tile.start + tile.width - 1]), tile.start))
    starts = np.array([tile.start for tile in tiles])
    widths = np.array([tile.width for tile in tiles])
    columns = np.arange(width)
    filled = columns < widths[:, None]
    rows = starts[:, None] + np.where(filled, columns, 0)
    firsts, lasts = batch.positions[starts], batch.positions[starts + widths - 1]
    first_block = max(int(firsts.min()) - window + 1, 0) // key_block if window else 0
    return TileGroup(
        rows=torch.from_numpy(rows),
        seen=torch.from_numpy(batch.positions[rows]),
        firsts=firsts,
        lasts=lasts,
        places=torch.from_numpy(np.flatnonzero(filled)),
        window=window,
        first_block=first_block,
        pages=tuple(_pages(tables[[tile.owner for tile in tiles]], lasts, arena, record, key_block, first_block)),
    )


def _pages(
    tables: NDArray[np.int64], lasts: NDArray[np.int32], arena: Tensor, record: Record, key_block: int, first_block: int
) -> Iterator[Runs]:
    """For each block of keys, the pages of the tiles that reach it. A page that is not there is read as the first of
    the arena."""
    layer_bytes = PAGE * record.size
    per_block = key_block // PAGE
    for at in range(first_block * per_block, int(lasts[0]) // PAGE + 1, per_block):
        reach = int((lasts >= at * PAGE).sum())
        some = np.full((reach, per_block), -1, dtype=np.int64)
        known = tables[:reach, at : at + per_block]
        some[:, : known.shape[1]] = known
        yield Runs.at(arena, np.maximum(some, 0).flatten(), layer_bytes, layer_bytes)


class PagedAttention:
    """Over the pages of one batch, for every layer."""

    def __init__(
        self, config: ModelConfig, arithmetic: Arithmetic, groups: list[TileGroup], record: Record, row_multiple: int
    ) -> None:
        self._config = config
        self._arithmetic = arithmetic
        self._groups = groups
        self._record = record
        self._row_multiple = row_multiple

    def mixed(self, layer: int, q: Tensor) -> Tensor:
        """q and result [rows, heads, head_dim]; the keys and values of the rows are in the arena."""
        out = torch.empty_like(q)
        for group in self._groups:
            mixed = self._mixed_group(layer, group, q[group.rows])
            out[group.rows.flatten()[group.places]] = mixed.flatten(0, 1)[group.places]
        return out

    def _mixed_group(self, layer: int, group: TileGroup, q: Tensor) -> Tensor:
        """[tiles, width, heads, head_dim] of queries of that shape."""
        tiles, width, heads, head_dim = q.shape
        kv_heads = self._config.n_kv_heads
        used = width * heads // kv_heads
        grouped = torch.unflatten(q, 2, (kv_heads, -1)).permute(0, 2, 1, 3, 4).reshape(tiles * kv_heads, used, head_dim)
        seen = group.seen.unsqueeze(2).expand(tiles, width, heads // kv_heads).reshape(tiles, used)
        missing = padded_rows(used, self._row_multiple) - used
        grouped, seen = functional.pad(grouped, (0, 0, 0, missing)), functional.pad(seen, (0, missing))
        mixing = self._arithmetic.mixing(grouped)
        self._go_through(layer, group, grouped * head_dim**-0.5, seen.repeat_interleave(kv_heads, dim=0), mixing)
        mixed = mixing.result()[:, :used].view(tiles, kv_heads, width, -1, head_dim)
        return mixed.permute(0, 2, 1, 3, 4).reshape(q.shape)

    def _go_through(
        self, layer: int, group: TileGroup, q: Tensor, seen: Tensor, mixing: RunningSoftmax | SplitSoftmax
    ) -> None:
        """q [tiles · kv_heads, m, head_dim]; seen [tiles · kv_heads, m], the last position each query may look at."""
        key_block = self._arithmetic.order.key_block
        offsets = torch.arange(key_block)
        for number, pages in enumerate(group.pages, start=group.first_block):
            start = number * key_block
            keys, values = self._block(layer, group, number, pages)
            n = keys.shape[0]
            scores = torch.bmm(q[:n], keys.transpose(1, 2))
            if self._hides(group, number):
                scores.masked_fill_(offsets + start > seen[:n].unsqueeze(2), float("-inf"))
            if group.window:
                scores.masked_fill_(offsets + start <= seen[:n].unsqueeze(2) - group.window, float("-inf"))
            self._arithmetic.mix(mixing, scores, values)

    def _block(self, layer: int, group: TileGroup, number: int, pages: Runs) -> tuple[Tensor, Tensor]:
        """Keys and values [tiles · kv_heads, key_block, head_dim] of the tiles that reach this block.

        Values that no row of a tile looks at become zeros: whatever bytes lie there, they must stay finite when they
        are multiplied by a weight of zero.
        """
        key_block = self._arithmetic.order.key_block
        records = pages.read(layer).view(-1, key_block, self._record.size)
        tiles = records.shape[0]
        keys, values = self._record.unpack(records, self._arithmetic.dtype)
        positions = torch.arange(key_block) + number * key_block
        if group.lasts[tiles - 1] < (number + 1) * key_block - 1:
            behind = positions > torch.from_numpy(group.lasts[:tiles]).unsqueeze(1)
            values = values.masked_fill(behind[:, :, None, None], 0.0)
        if group.window:
            before = positions <= torch.from_numpy(group.firsts[:tiles]).unsqueeze(1) - group.window
            values = values.masked_fill(before[:, :, None, None], 0.0)
        return _by_head(keys), _by_head(values)

    def _hides(self, group: TileGroup, number: int) -> bool:
        """Whether some query of the tiles that reach this block may not look at all of it.

        Padding looks at position 0 only, or with a window at nothing, which changes nothing but itself.
        """
        key_block = self._arithmetic.order.key_block
        reach = group.lasts >= number * key_block
        return bool((group.firsts[reach] < (number + 1) * key_block - 1).any())


def _by_head(x: Tensor) -> Tensor:
    """[n · heads, keys, d] of [n, keys, heads, d]."""
    return x.transpose(1, 2).flatten(0, 1).contiguous()
