"""Every family against transformers, on tiny random models."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from reference_engine import ModelFileError, load_engine
from reference_engine.engine import Engine
from reference_engine.interface import Scored
from reference_engine.model.config import config_from_json
from tests.reference_engine.tiny_models import (
    CONFIGS,
    LLAMA3_SCALING,
    SIZES,
    VOCABULARY,
    gguf_tensors,
    write_gguf,
    write_tiny_model,
)

IDS = random.Random(7).choices(range(VOCABULARY), k=150)


def rows(scored: Scored) -> torch.Tensor:
    """Full distributions of all positions but the first, [len(ids), vocabulary]."""
    table = torch.empty(len(scored.positions) - 1, VOCABULARY, dtype=torch.float64)
    for row, position in zip(table, scored.positions[1:], strict=True):
        ids, logprobs = zip(*position.top, strict=True)
        row[list(ids)] = torch.tensor(logprobs, dtype=torch.float64)
    return table


def full_score(engine: Engine, ids: list[int] = IDS) -> torch.Tensor:
    return rows(engine.score(ids, top_k=VOCABULARY))


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_safetensors_model_agrees_with_transformers(tmp_path: Path, kind: str) -> None:
    model = write_tiny_model(tmp_path, kind)

    ours = full_score(load_engine(tmp_path))

    assert (ours - model.logprobs(IDS)).abs().max() < 1e-4


def test_sharded_weights_are_read_through_their_index(tmp_path: Path) -> None:
    model = write_tiny_model(tmp_path, "llama-untied-bias", shard_size="60KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 2

    assert (full_score(load_engine(tmp_path)) - model.logprobs(IDS)).abs().max() < 1e-4


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    write_tiny_model(tmp_path, "llama", shard_size="60KB")
    shard = sorted(tmp_path.glob("*.safetensors"))[1]
    shard.unlink()

    with pytest.raises(ModelFileError.__base__, match=shard.name):  # type: ignore[arg-type]
        load_engine(tmp_path)


@pytest.mark.parametrize(
    ("kind", "architecture"),
    [("llama", "llama"), ("llama-untied-bias", "llama"), ("qwen2", "qwen2"), ("qwen3", "qwen3")],
)
def test_a_gguf_file_gives_the_same_bits_as_the_folder_it_was_made_from(
    tmp_path: Path, kind: str, architecture: str
) -> None:
    model = write_tiny_model(tmp_path / "folder", kind)
    file = write_gguf(tmp_path / "tiny.gguf", model, architecture)

    assert torch.equal(full_score(load_engine(file)), full_score(load_engine(tmp_path / "folder")))


def test_rope_factors_in_a_gguf_file_scale_the_frequencies(tmp_path: Path) -> None:
    model = write_tiny_model(tmp_path / "folder", "llama3-scaled")
    scaled = model.reference.model.rotary_emb.inv_freq
    plain = 1.0 / LLAMA3_SCALING["rope_theta"] ** (np.arange(0, 8, 2) / 8)
    factors = (plain / scaled.numpy()).astype(np.float32)
    tensors = gguf_tensors(model, "llama") | {"rope_freqs.weight": factors}
    file = write_gguf(tmp_path / "tiny.gguf", model, "llama", tensors=tensors)

    assert (full_score(load_engine(file)) - model.logprobs(IDS)).abs().max() < 1e-4


def test_linear_scaling_is_read_from_gguf(tmp_path: Path) -> None:
    model = write_tiny_model(tmp_path / "folder", "llama-linear")
    extra: dict[str, int | float | str] = {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 4.0}
    file = write_gguf(tmp_path / "tiny.gguf", model, "llama", extra=extra)

    assert (full_score(load_engine(file)) - model.logprobs(IDS)).abs().max() < 1e-4


@pytest.mark.parametrize(
    ("kind", "architecture", "pattern"), [("mistral-window", "llama", {}), ("qwen2-window", "qwen2", {"_pattern": 2})]
)
def test_a_sliding_window_is_read_from_gguf(
    tmp_path: Path, kind: str, architecture: str, pattern: dict[str, int]
) -> None:
    model = write_tiny_model(tmp_path / "folder", kind)
    window = {"": CONFIGS[kind].sliding_window} | pattern
    extra = {f"{architecture}.attention.sliding_window{end}": value for end, value in window.items()}
    file = write_gguf(tmp_path / "tiny.gguf", model, architecture, extra=extra)

    assert torch.equal(full_score(load_engine(file)), full_score(load_engine(tmp_path / "folder")))


@pytest.mark.parametrize(
    ("family", "stated", "windows"),
    [
        ("mistral", {"sliding_window": 64}, (64, 64, 64)),
        ("mistral", {"sliding_window": None}, (0, 0, 0)),
        ("mistral", {"sliding_window": 512}, (0, 0, 0)),
        ("llama", {"sliding_window": 64}, (0, 0, 0)),
        ("qwen2", {"sliding_window": 64}, (0, 0, 0)),
        ("qwen2", {"sliding_window": 64, "use_sliding_window": False}, (0, 0, 0)),
        ("qwen3", {"sliding_window": 64, "use_sliding_window": True, "max_window_layers": 1}, (0, 64, 64)),
        (
            "qwen2",
            {
                "sliding_window": 64,
                "use_sliding_window": True,
                "layer_types": ["sliding_attention", *["full_attention"] * 2],
            },
            (64, 0, 0),
        ),
    ],
)
def test_the_layers_with_a_window_are_those_that_transformers_takes(
    family: str, stated: dict[str, object], windows: tuple[int, ...]
) -> None:
    values = SIZES | {"model_type": family} | stated

    assert config_from_json(Path("config.json"), values).windows == windows


@pytest.mark.parametrize(
    "wrong",
    [{"sliding_window": -4}, {"sliding_window": 64, "layer_types": ["full_attention"]}, {"sliding_window": "x"}],
)
def test_a_window_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    values = SIZES | {"model_type": "qwen2", "use_sliding_window": True, "max_window_layers": 0} | wrong

    with pytest.raises(ModelFileError, match=r"config\.json"):
        config_from_json(Path("config.json"), values)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"model_type": "gemma3"}, "unknown architecture 'gemma3'; supported: llama, mistral, qwen2, qwen3"),
        ({"hidden_act": "gelu"}, "hidden_act 'gelu'"),
        ({"mlp_bias": True}, "mlp_bias"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor 0.5"),
        ({"quantization_config": {"quant_method": "awq"}}, "'awq'"),
        ({"rope_parameters": {"rope_type": "yarn", "factor": 2.0}}, "rotary scaling 'yarn'"),
        ({"num_key_value_heads": 4}, "6 attention heads over 4 key-value heads"),
        ({"hidden_size": None}, "hidden_size"),
        ({"intermediate_size": 81}, "has shape (80, 48), expected (81, 48)"),
        ({"num_hidden_layers": 4}, "9 tensors"),
        ({"num_hidden_layers": 2}, "not part of the llama architecture"),
        ({"vocab_size": 250}, "expected (250, 48)"),
    ],
)
def test_a_config_that_would_be_computed_wrongly_is_refused(
    tmp_path: Path, change: dict[str, object], named: str
) -> None:
    write_tiny_model(tmp_path, "llama")
    file = tmp_path / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))

    with pytest.raises(ModelFileError) as caught:
        load_engine(tmp_path)

    assert named in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert caught.value.remedy


def test_sizes_of_transformers_defaults_are_known(tmp_path: Path) -> None:
    """config.json leaves out what equals the class's default; a qwen2 without the key has 32 key-value heads."""
    write_tiny_model(tmp_path, "qwen2")
    file = tmp_path / "config.json"
    values = {key: value for key, value in json.loads(file.read_text()).items() if key != "num_key_value_heads"}
    file.write_text(json.dumps(values | {"num_attention_heads": SIZES["num_attention_heads"]}))

    with pytest.raises(ModelFileError, match="6 attention heads over 32 key-value heads"):
        load_engine(tmp_path)
