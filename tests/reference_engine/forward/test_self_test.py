"""The start-up self-test finds a forward pass whose bits depend on company, and passes one whose bits do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from reference_engine.forward.batch import Asked, Batch, ReadOut
from reference_engine.forward.self_test import PAGES_NEEDED, first_difference
from reference_engine.forward.torch_forward import TorchForward
from reference_engine.sample import Draw
from tests.reference_engine.forward.sequences import Paged, paged, stored
from tests.reference_engine.tiny_models import VOCABULARY, TinyModel


@dataclass(frozen=True)
class Swayed:
    """A pass whose numbers move with the number of rows computed, or read, together, as a careless one's do."""

    exact: TorchForward
    by_rows: float = 0.0
    by_rows_read: float = 0.0

    def hidden(self, batch: Batch) -> NDArray[np.float32]:
        return self.exact.hidden(batch) + np.float32(self.by_rows * len(batch.ids))

    def logits(self, hidden: NDArray[np.float32]) -> NDArray[np.float32]:
        return self.exact.logits(hidden)

    def read_out(self, hidden: NDArray[np.float32], asked: Asked) -> ReadOut:
        return self.exact.read_out(hidden + np.float32(self.by_rows_read * len(hidden)), asked)

    def read_logits(self, logits: NDArray[np.float32], asked: Asked) -> ReadOut:
        return self.exact.read_logits(logits, asked)

    def sample(self, logits: NDArray[np.float32], draws: Sequence[Draw]) -> list[int]:
        return self.exact.sample(logits, draws)


@pytest.fixture
def run(tiny_llama: TinyModel) -> Paged:
    return paged(*stored(tiny_llama), "fp64")


def difference(run: Paged, forward: TorchForward | Swayed) -> str | None:
    return first_difference(forward, np.array([run.free[:PAGES_NEEDED]]), VOCABULARY)


def test_rows_that_move_with_their_company_are_found(run: Paged) -> None:
    assert difference(run, Swayed(run.forward)) == difference(run, run.forward)
    assert "A row computed alone differs" in str(difference(run, Swayed(run.forward, by_rows=1e-5)))


def test_read_outs_that_move_with_their_company_are_found(run: Paged) -> None:
    assert "read of a row alone differs" in str(difference(run, Swayed(run.forward, by_rows_read=1e-3)))


def test_only_the_pages_that_were_offered_are_written(run: Paged) -> None:
    before = run.arena.copy()
    offered = run.free[:PAGES_NEEDED]

    difference(run, run.forward)

    kept = np.ones(len(before), dtype=bool)
    for start in offered:
        kept[start : start + run.size] = False
    assert np.array_equal(run.arena[kept], before[kept])
