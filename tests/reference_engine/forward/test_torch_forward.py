"""The forward pass over pages against transformers and the oracle."""

from __future__ import annotations

import random
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from reference_engine.forward.batch import Asked
from reference_engine.forward.pieces import Piece, batch_of
from reference_engine.ops.steady import MULTIPLES, steady_row_multiple
from reference_engine.sample import Draw, sample
from tests.reference_engine.forward.sequences import paged, stored
from tests.reference_engine.tiny_models import CONFIGS, VOCABULARY, TinyModel, write_tiny_model

IDS = random.Random(5).choices(range(VOCABULARY), k=150)


@pytest.mark.parametrize("kind", CONFIGS)
def test_every_family_agrees_with_transformers_and_the_oracle(tmp_path: Path, kind: str) -> None:
    model = write_tiny_model(tmp_path, kind)
    store, config = stored(model)

    ours = torch.from_numpy(paged(store, config, "fp32").logprobs(IDS))

    assert (ours - model.logprobs(IDS)).abs().max() < 1e-4
    oracle = torch.from_numpy(paged(store, config, "fp64").logprobs(IDS))
    assert 1e-7 < (ours - oracle).abs().max() < 1e-4


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [("w8a8", 1e-3, 0.2), ("fp32-kv-fp8", 1e-3, 0.2), ("fp32-kv-int8", 1e-4, 0.05), ("fp64", 0.0, 1e-6)],
)
def test_a_profile_is_as_far_from_the_oracle_as_its_format_says(
    tiny_llama: TinyModel, name: str, least: float, most: float
) -> None:
    store, config = stored(tiny_llama)
    oracle = paged(store, config, "fp64").logprobs(IDS)

    error = np.abs(paged(store, config, name).logprobs(IDS) - oracle).mean()

    assert least <= error <= most


def test_the_oracle_publishes_on_a_grid_in_double_precision(tiny_llama: TinyModel) -> None:
    run = paged(*stored(tiny_llama), "fp64")
    hidden = run.run([(0, IDS[:20], 0)])[0]

    read = run.read(hidden)

    assert hidden.dtype == read.top_logits.dtype == read.chosen_logits.dtype == np.float64
    assert not read.log_normaliser.any()
    assert np.array_equal(read.chosen_logits, np.round(read.chosen_logits * 1e6) / 1e6)
    assert np.array_equal(run.forward.logits(hidden), read.chosen_logits)
    assert np.abs(np.exp(read.chosen_logits).sum(axis=1) - 1).max() < 1e-6


def test_the_padding_is_what_products_of_this_machine_ask_for(tiny_llama: TinyModel) -> None:
    store, config = stored(tiny_llama)

    unasked = paged(store, config, "fp32", row_multiple=None).logprobs(IDS[:20])

    assert np.abs(unasked - paged(store, config, "fp32").logprobs(IDS[:20])).max() < 1e-5
    assert steady_row_multiple([torch.eye(3)], torch.float32) in MULTIPLES


def test_tokens_are_drawn_as_their_log_probabilities_say(tiny_llama: TinyModel) -> None:
    run = paged(*stored(tiny_llama), "fp32")
    logits = run.forward.logits(run.run([(0, IDS[:3], 0)])[0])
    read = run.forward.read_logits(logits, Asked(1, np.array([-1] * 3, np.int32), np.empty((3, 0), np.int32)))
    draws = [Draw(0.0, 1.0, seed=1, position=3), Draw(0.7, 1.0, seed=1, position=4), Draw(1.3, 0.5, seed=2, position=5)]

    tokens = run.forward.sample(logits, draws)

    logprobs = logits.astype(np.float64) - read.log_normaliser[:, None]
    assert tokens[0] == read.top_ids[0, 0]
    assert tokens == [sample(row, **asdict(draw)) for row, draw in zip(logprobs, draws, strict=True)]


def test_only_the_rows_that_are_asked_for_are_given(tiny_llama: TinyModel) -> None:
    run = paged(*stored(tiny_llama), "fp32")
    whole = batch_of([Piece(IDS[:30], 0, run.pages(0, 30)), Piece(IDS[30:50], 0, run.pages(1, 20))])
    all_rows = run.forward.hidden(whole)

    some = run.forward.hidden(replace(whole, read=np.array([3, 29, 40], dtype=np.int32)))

    assert np.array_equal(some, all_rows[[3, 29, 40]])
    none = run.forward.hidden(replace(whole, read=np.array([], dtype=np.int32)))
    assert none.shape == (0, 48)
    read = run.forward.read_out(none, Asked(5, np.array([], np.int32), np.empty((0, 2), np.int32)))
    assert (read.top_ids.shape, read.chosen_logits.shape) == ((0, 5), (0, 2))
