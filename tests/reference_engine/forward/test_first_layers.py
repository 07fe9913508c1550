"""The first layers of a model write into the pages what the whole model writes there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reference_engine.forward.choice import Choice
from reference_engine.forward.native_forward import NativeForward
from reference_engine.forward.pages import page_bytes
from reference_engine.forward.pieces import Piece, batch_of
from reference_engine.forward.torch_forward import TorchForward
from reference_engine.profile import profile_named
from reference_engine.weights.safetensors import SafetensorsSource
from reference_engine.weights.store import WeightStore
from tests.reference_engine.tiny_models import TinyModel

LAYERS = 3
IDS = [(7 * at) % 290 for at in range(30)]
ROWS = [(IDS[:20], 0), (IDS[20:], 20), (IDS[15:22], 15)]


def forward_and_arena(
    kernels: bool, folder: Path, profile: str
) -> tuple[TorchForward | NativeForward, np.ndarray, int]:
    source, recipe = SafetensorsSource(folder), profile_named(profile)
    if kernels:
        choice = Choice(source, kept=1, threads=2)
        if not choice.runs_natively(recipe):
            pytest.skip("the kernels do not run here")
        size = int(np.sum(choice.page_bytes(recipe)))
        arena = np.zeros(2 * size, np.uint8)
        loaded = choice.load(recipe, arena).forward
        assert isinstance(loaded, NativeForward)
        return loaded, arena, size
    arena = np.zeros(2 * (size := page_bytes(source.config, recipe)), np.uint8)
    return TorchForward(source.config, WeightStore(source, kept=1).weights(recipe), recipe, arena), arena, size


@pytest.mark.parametrize(
    ("kernels", "profile"),
    [(True, "fp32"), (True, "w8a8"), (True, "w4-g64"), (True, "bf16"), (False, "fp32"), (False, "fp32-kv-int8")],
)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_keys_and_values_are_those_of_the_whole_model(
    tiny_llama: TinyModel, kernels: bool, profile: str, count: int
) -> None:
    whole, arena, size = forward_and_arena(kernels, tiny_llama.folder, profile)
    batches = [batch_of([Piece(ids, start, np.array([0, size]))]) for ids, start in ROWS]
    shorter = whole.first_layers(count)
    states = [whole.hidden(batch) for batch in batches]
    layers = arena.reshape(2, LAYERS, -1).copy()

    over = [shorter.hidden(batch) for batch in batches]

    assert np.array_equal(arena.reshape(2, LAYERS, -1), layers)
    arena[:] = 0
    for batch in batches:
        shorter.hidden(batch)
    written = arena.reshape(2, LAYERS, -1)
    assert np.array_equal(written[:, :count], layers[:, :count])
    assert not written[:, count:].any()
    assert all(np.array_equal(*pair) for pair in zip(states, over, strict=True)) == (count == LAYERS)
