"""However the rows of a pass are shared out among threads, each gives the bits that it gives alone."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_engine.forward.batch import PAGE
from reference_engine.forward.native_forward import NativeForward, native_layer_bytes
from reference_engine.forward.pieces import Piece, batch_of
from reference_engine.native.library import Kernels
from reference_engine.native.weights import native_weights
from reference_engine.weights.safetensors import SafetensorsSource
from tests.reference_engine.forward.sequences import EVERY_PROFILE, GARBAGE
from tests.reference_engine.tiny_models import VOCABULARY, TinyModel

IDS = random.Random(3).choices(range(VOCABULARY), k=80)
PROFILES = ("fp32", "bf16", "w8a8")
_PAGES = 64


class Passes:
    """One kernel build, a profile, and pages that are full of garbage before each pass."""

    def __init__(self, kernels: Kernels, model: TinyModel, profile: str) -> None:
        source, recipe = SafetensorsSource(model.folder), EVERY_PROFILE[profile]
        self._page = source.config.n_layers * native_layer_bytes(source.config, recipe)
        self._arena = np.empty(_PAGES * self._page, dtype=np.uint8)
        self._forward = NativeForward(kernels, native_weights(source, recipe), self._arena)

    def hidden(self, pieces: Sequence[tuple[int, int, int]]) -> np.ndarray:
        """Of rows (page table, start, end), each table with pages of its own."""
        self._arena.fill(GARBAGE)
        pages = -(-len(IDS) // PAGE)
        batch = batch_of(
            [
                Piece(IDS[start:end], start, (table * pages + np.arange(pages)) * self._page)
                for table, start, end in pieces
            ]
        )
        return self._forward.hidden(batch)


@pytest.fixture(scope="module", params=PROFILES)
def passes(request: pytest.FixtureRequest, every_kernels: list[Kernels], tiny_llama: TinyModel) -> list[Passes]:
    return [Passes(kernels, tiny_llama, request.param) for kernels in every_kernels]


@settings(max_examples=25, deadline=None)
@given(ends=st.lists(st.integers(1, 80), min_size=1, max_size=10))
def test_a_pass_over_several_sequences_gives_the_bits_of_each_alone(passes: list[Passes], ends: list[int]) -> None:
    whole = passes[0].hidden([(0, 0, len(IDS))])
    pieces = [(table, 0, end) for table, end in enumerate(ends)]

    expected = np.concatenate([whole[:end] for end in ends])
    assert all(np.array_equal(each.hidden(pieces), expected) for each in passes)


# 43 is where either side takes about as long.
@pytest.mark.parametrize("cut", [16, 43, 45])
def test_rows_that_look_at_what_the_same_pass_writes_for_others_see_it(passes: list[Passes], cut: int) -> None:
    expected = passes[0].hidden([(0, 0, len(IDS))])

    found = [each.hidden([(0, 0, cut), (0, cut, len(IDS))]) for each in passes]

    assert all(np.array_equal(each, expected) for each in found)
