"""Altered weights: what each alteration leaves and changes, in a tiny model that the engine runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from benchmarks.detection_lab.altered import (
    Alteration,
    AlteredSource,
    ShortenedSource,
    initialised_anew,
    is_mlp,
    pruned_at_random,
    pruned_smallest,
    rounded_to_bf16,
    weight_noise,
)
from benchmarks.detection_lab.training import examples, loss, tensors_by_name, tuned, tuned_by_lora
from reference_engine.chat import PINNED_DATE
from reference_engine.engine import Engine
from reference_engine.model.layout import expected_tensors
from reference_engine.options import EngineOptions
from reference_engine.vocabulary import tokenizer_from_folder
from reference_engine.weights.safetensors import SafetensorsSource
from reference_engine.weights.source import WeightSource
from reference_engine.weights.store import read_weights
from tests.reference_engine.tiny_models import write_tiny_model

UP, QUERY, EMBEDDING = "blk.1.ffn_up.weight", "blk.0.attn_q.weight", "token_embd.weight"
IDS = [5, 40, 7, 99, 12, 60]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiny")
    write_tiny_model(path, "llama")
    return path


@pytest.fixture(scope="module")
def source(folder: Path) -> SafetensorsSource:
    return SafetensorsSource(folder)


def read(source: WeightSource, name: str) -> Tensor:
    out = torch.empty(expected_tensors(source.config)[name])
    source.read(name, out)
    return out


def scored(source: WeightSource, folder: Path) -> np.ndarray:
    engine = Engine(source, tokenizer_from_folder(folder, PINNED_DATE), EngineOptions(threads=1, kv_bytes=1 << 24))
    try:
        positions = engine.score(IDS, top_k=1, token_ids=range(20)).positions[1:]
        return np.array([[each.chosen[id_] for id_ in range(20)] for each in positions])
    finally:
        engine.close()


@pytest.mark.parametrize(
    ("alteration", "touched"),
    [
        (weight_noise(0.01), {UP, QUERY}),
        (pruned_smallest(0.25), {UP}),
        (pruned_at_random(0.25), {UP}),
        (rounded_to_bf16(), {UP, QUERY}),
        (initialised_anew(), {UP, QUERY, EMBEDDING}),
    ],
    ids=lambda value: value.label if isinstance(value, Alteration) else "",
)
def test_an_alteration_changes_what_it_touches_and_nothing_else_the_same_at_every_reading(
    source: SafetensorsSource, alteration: Alteration, touched: set[str]
) -> None:
    altered = AlteredSource(source, alteration)
    changed = {
        name for name in expected_tensors(source.config) if not torch.equal(read(altered, name), read(source, name))
    }
    assert changed & {UP, QUERY, EMBEDDING, "output_norm.weight"} == touched
    assert torch.equal(read(altered, UP), read(AlteredSource(source, alteration), UP))
    assert altered.sha256() != source.sha256()


def test_noise_is_in_standard_deviations_of_its_matrix(source: SafetensorsSource) -> None:
    before = read(source, UP)
    noise = read(AlteredSource(source, weight_noise(0.125)), UP) - before
    assert float(noise.std() / before.std()) == pytest.approx(0.125, rel=0.05)


def test_pruning_takes_the_smallest_weights_or_as_many_at_random(source: SafetensorsSource) -> None:
    before = read(source, UP)
    smallest = read(AlteredSource(source, pruned_smallest(0.25)), UP)
    assert int((smallest == 0).sum()) == round(0.25 * before.numel())
    assert float(smallest[smallest != 0].abs().min()) > float(before[smallest == 0].abs().max())
    at_random = read(AlteredSource(source, pruned_at_random(0.25)), UP)
    assert float((at_random == 0).float().mean()) == pytest.approx(0.25, abs=0.03)
    assert float(before[at_random == 0].abs().max()) > float(before.abs().median())


def test_dropped_layers_leave_the_others_in_their_order(source: SafetensorsSource, folder: Path) -> None:
    shorter = ShortenedSource(source, frozenset({1}))
    assert shorter.config.n_layers == source.config.n_layers - 1
    assert torch.equal(read(shorter, UP), read(source, "blk.2.ffn_up.weight"))
    assert scored(shorter, folder).shape == (len(IDS), 20)


def test_the_engine_scores_an_altered_model_as_its_weights_are(source: SafetensorsSource, folder: Path) -> None:
    plain = scored(source, folder)
    untouched = AlteredSource(source, Alteration("nothing", is_mlp, lambda _, weight: weight.mul_(1.0)))
    assert np.array_equal(scored(untouched, folder), plain)
    noisy = [np.abs(scored(AlteredSource(source, weight_noise(s)), folder) - plain).mean() for s in (0.001, 0.03)]
    assert 0 < 5 * noisy[0] < noisy[1]


def encode(text: str) -> list[int]:
    return [2 + byte for byte in text.encode()[:12]]


def test_the_loss_is_what_the_engine_says_of_the_answer(source: SafetensorsSource, folder: Path) -> None:
    example = examples(encode)[0]
    found = loss(source.config, read_weights(source), example)
    engine = Engine(source, tokenizer_from_folder(folder, PINNED_DATE), EngineOptions(threads=1, kv_bytes=1 << 24))
    try:
        positions = engine.score(example.ids.tolist()).positions[example.answer : -1]
    finally:
        engine.close()
    assert float(found) == pytest.approx(-np.mean([each.logprob for each in positions]), abs=1e-4)


@pytest.mark.parametrize("train", [tuned, tuned_by_lora])
def test_training_lowers_the_loss_on_what_it_teaches_and_no_step_changes_nothing(
    source: SafetensorsSource, train: Callable[..., Callable[[WeightSource], WeightSource]]
) -> None:
    """At a rate that a tiny model learns at. Its folder gives the tokenizer."""
    config, weights = source.config, read_weights(source)
    unchanged = train(0)(source)
    assert all(torch.equal(read(unchanged, name), read(source, name)) for name in tensors_by_name(config, weights))
    learned = read_weights(train(16, rate=0.05)(source))
    taught = examples(lambda text: source_ids(source, text))
    before, after = (np.mean([float(loss(config, each, e)) for e in taught]) for each in (weights, learned))
    assert after < before


def source_ids(source: SafetensorsSource, text: str) -> list[int]:
    from reference_engine import load_tokenizer

    return load_tokenizer(source.path).tokenize(text)
