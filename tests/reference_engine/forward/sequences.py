"""Runs token sequences through a forward pass in pieces, as a scheduler would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from reference_engine import PROFILES
from reference_engine.forward.batch import NO_CELL, PAGE, Asked, ReadOut
from reference_engine.forward.pages import by_groups, layer_bytes, page_bytes
from reference_engine.forward.pieces import Piece, batch_of
from reference_engine.forward.torch_forward import TorchForward
from reference_engine.model.config import ModelConfig
from reference_engine.model.groups import layer_groups
from reference_engine.profile import FURTHER_PROFILES, NumericsProfile
from reference_engine.weights.safetensors import SafetensorsSource
from reference_engine.weights.store import WeightStore
from tests.reference_engine.tiny_models import VOCABULARY, TinyModel

EVERY_PROFILE = PROFILES | FURTHER_PROFILES
GARBAGE = 0xFF  # nan in every float format


@dataclass
class Paged:
    """A forward pass over an arena full of garbage, and which pages are still free."""

    forward: TorchForward
    config: ModelConfig
    profile: NumericsProfile
    size: int
    free: list[int]
    arena: NDArray[np.uint8]
    starts: dict[int, NDArray[np.int64]] = field(default_factory=dict)

    def pages(self, sequence: int, length: int) -> NDArray[np.int64]:
        """Enough pages for `length` tokens of a sequence, taken from all over the arena."""
        held = self.starts.setdefault(sequence, np.empty(0, dtype=np.int64))
        more = [self.free.pop() for _ in range(-(-length // PAGE) - len(held))]
        self.starts[sequence] = np.concatenate([held, np.array(more, dtype=np.int64)])
        return self.starts[sequence]

    def tables(self, sequence: int, start: int, end: int) -> NDArray[np.int64]:
        """Of each layer group. What rows from `start` on do not look at is not there, and full of garbage."""
        tables = by_groups(self.config, self.profile, self.pages(sequence, end))
        for table, group in zip(tables, layer_groups(self.config), strict=True):
            passed = max(start - group.window + 1, 0) // PAGE if group.window else 0
            for cell in table[:passed]:
                size = len(group.layers) * layer_bytes(self.config, self.profile)
                self.arena[cell : cell + size] = GARBAGE
            table[:passed] = NO_CELL
        return tables

    def run(self, parts: Sequence[tuple[int, Sequence[int], int]]) -> list[NDArray[np.float32]]:
        """Hidden states of each (sequence, ids, start), all in one pass."""
        pieces = [Piece(ids, start, self.tables(sequence, start, start + len(ids))) for sequence, ids, start in parts]
        hidden = self.forward.hidden(batch_of(pieces))
        return np.split(hidden, np.cumsum([len(piece.ids) for piece in pieces])[:-1])

    def logprobs(self, ids: Sequence[int]) -> NDArray[np.float64]:
        """The distributions after each token of a new sequence, [len(ids), vocabulary]."""
        read = self.read(self.run([(len(self.starts), ids, 0)])[0])
        return read.chosen_logits.astype(np.float64) - read.log_normaliser[:, None]

    def read(self, hidden: NDArray[np.float32]) -> ReadOut:
        n, vocabulary = len(hidden), self.config.vocab_size
        chosen = np.tile(np.arange(vocabulary, dtype=np.int32), (n, 1))
        return self.forward.read_out(hidden, Asked(20, np.full(n, 7, dtype=np.int32), chosen))


def paged(
    store: WeightStore, config: ModelConfig, profile: str, *, row_multiple: int | None = 16, pages: int = 60
) -> Paged:
    recipe = EVERY_PROFILE[profile]
    size = page_bytes(config, recipe)
    arena = np.full(pages * size, GARBAGE, dtype=np.uint8)
    forward = TorchForward(config, store.weights(recipe), recipe, arena, row_multiple=row_multiple)
    free = (np.random.default_rng(1).permutation(pages) * size).tolist()
    return Paged(forward, config, recipe, size, free, arena)


def stored(model: TinyModel) -> tuple[WeightStore, ModelConfig]:
    source = SafetensorsSource(model.folder)
    assert source.config.vocab_size == VOCABULARY
    return WeightStore(source, kept=2), source.config
