"""The pass that does not care for equal bits: near the exact one, and found out by what proves the exact one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from reference_engine import EngineOptions, load_engine
from reference_engine.engine import Engine
from reference_engine.forward.batch import Asked, Batch
from reference_engine.forward.inexact_forward import InexactForward, Way
from reference_engine.forward.native_forward import native_layer_bytes
from reference_engine.forward.pieces import Piece, batch_of
from reference_engine.forward.plain_pass import PlainPass
from reference_engine.forward.self_test import PAGES_NEEDED, first_difference
from tests.reference_engine.forward.sequences import EVERY_PROFILE, paged, stored
from tests.reference_engine.tiny_models import VOCABULARY, TinyModel, write_tiny_model

IDS = random.Random(6).choices(range(VOCABULARY), k=90)
CHOSEN = np.tile(np.arange(VOCABULARY, dtype=np.int32), (len(IDS), 1))


@pytest.fixture(scope="module")
def careless(tiny_llama: TinyModel) -> Iterator[Engine]:
    engine = load_engine(tiny_llama.folder, options=EngineOptions(exact=False))
    yield engine
    engine.close()


def plain(model: TinyModel, profile: str = "fp32") -> InexactForward:
    """Whatever is quicker here, torch computes."""
    store, config = stored(model)
    recipe = EVERY_PROFILE[profile]
    size = config.n_layers * native_layer_bytes(config, recipe)
    way = PlainPass(config, store.weights(recipe), recipe).hidden
    return InexactForward(paged(store, config, profile).forward, [way], size, np.zeros(20 * size, dtype=np.uint8))


def pages_of(model: TinyModel, count: int, profile: str = "fp32") -> np.ndarray:
    config, recipe = stored(model)[1], EVERY_PROFILE[profile]
    return np.arange(count, dtype=np.int64) * config.n_layers * native_layer_bytes(config, recipe)


@pytest.mark.parametrize("kind", ["llama", "llama-untied-bias", "qwen3"])
def test_torch_over_the_kernels_pages_agrees_with_transformers(tmp_path: Path, kind: str) -> None:
    model = write_tiny_model(tmp_path, kind)
    forward, pages = plain(model), pages_of(model, 8)

    hidden = [forward.hidden(batch_of([Piece(IDS[:60], 0, pages[:6])]))]
    hidden += [forward.hidden(batch_of([Piece(IDS[60:89], 60, pages[:6])]))]
    hidden += [forward.hidden(batch_of([Piece(IDS[:1], 0, pages[6:7]), Piece(IDS[89:], 89, pages[:6])]))[1:]]
    read = forward.read_out(np.concatenate(hidden), Asked(0, np.full(len(IDS), -1, dtype=np.int32), CHOSEN))

    logprobs = read.chosen_logits - read.log_normaliser[:, None]
    assert np.abs(logprobs - model.logprobs(IDS).numpy()).max() < 1e-4


@pytest.mark.parametrize("profile", ["fp32", "w8a8", "w4-g64"])
def test_the_self_test_finds_that_a_careless_pass_gives_other_bits(tiny_llama: TinyModel, profile: str) -> None:
    pages = pages_of(tiny_llama, PAGES_NEEDED, profile)

    assert "A row computed alone differs" in str(first_difference(plain(tiny_llama, profile), pages[None], VOCABULARY))


@pytest.mark.parametrize("profile", ["fp32", "w8a8", "w4-g64", "bf16", "fp32-kv-int8", "fp64"])
def test_a_careless_engine_says_so_and_gives_nearly_the_same_numbers(
    careless: Engine, tiny_engine: Engine, profile: str
) -> None:
    assert careless.exactness(profile) == ("approx", "The engine was asked to compute without care for equal bits.")
    assert careless.fingerprint(profile) != tiny_engine.fingerprint(profile)
    found, exact = (each.score(IDS, profile=profile, token_ids=[5, 99]) for each in (careless, tiny_engine))
    far = [
        abs(one.chosen[token] - other.chosen[token])
        for one, other in zip(found.positions[1:], exact.positions[1:], strict=True)
        for token in (5, 99)
    ]
    assert max(far) < {"w8a8": 0.5, "bf16": 0.1}.get(profile, 1e-4)


def test_the_quicker_way_is_taken_for_answers_and_for_chunks_each(tiny_llama: TinyModel) -> None:
    asked: dict[str, list[int]] = {"answers": [], "chunks": []}

    def way(name: str) -> Way:
        def computed(batch: Batch, _: np.ndarray) -> np.ndarray:
            asked[name].append(len(batch.ids))
            slow = (len(batch.tables[0]) > 1) != (name == "answers")
            return np.full((len(batch.read), 20_000 if slow else 1), 0.5).cumprod(axis=1).astype(np.float32)

        return computed

    forward = InexactForward(
        paged(*stored(tiny_llama), "fp32").forward, [way("chunks"), way("answers")], 4, np.zeros(4, dtype=np.uint8)
    )
    forward.settle()
    for trials in asked.values():
        trials.clear()

    forward.hidden(batch_of([Piece([1], 20, np.zeros(2, dtype=np.int64)) for _ in range(3)]))
    forward.hidden(batch_of([Piece([1] * 30, 0, np.zeros(2, dtype=np.int64))]))

    assert asked == {"answers": [3], "chunks": [30]}
