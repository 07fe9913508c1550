"""The bundled model, in the engine under test and in transformers; loaded once for all tests of this room."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import gguf
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

from reference_engine import load_engine
from reference_engine.engine import Engine
from tests.reference_engine.tiny_models import TinyModel, write_tiny_model


@pytest.fixture(scope="session")
def engine(bundled_model: Path) -> Iterator[Engine]:
    loaded = load_engine(bundled_model)
    yield loaded
    loaded.close()


@pytest.fixture(scope="session")
def transformers_model(bundled_model: Path) -> PreTrainedModel:
    """The bundled file as transformers reads it, in float32.

    `from_pretrained(gguf_file=…)` asks for the accelerate package; these are the steps it takes, without it. It would
    read the file's fields once for each of two steps, and make the table of names anew for each module of the model.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in ("GGUFReader", "get_tensor_name_map"):
            patch.setattr(gguf, name, cache(getattr(gguf, name)))
        return loaded_by_transformers(bundled_model)


def loaded_by_transformers(bundled_model: Path) -> PreTrainedModel:
    config = AutoConfig.from_pretrained(bundled_model.parent, gguf_file=bundled_model.name)
    model: PreTrainedModel = AutoModelForCausalLM.from_config(  # type: ignore[no-untyped-call]
        config, dtype=torch.float32
    )
    checkpoint = load_gguf_checkpoint(  # type: ignore[no-untyped-call]
        str(bundled_model), return_tensors=True, model_to_load=model
    )
    outcome = model.load_state_dict(checkpoint["tensors"], strict=False)
    assert outcome.missing_keys == ["lm_head.weight"]
    assert outcome.unexpected_keys == []
    model.tie_weights()
    model.train(False)
    return model


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> TinyModel:
    return write_tiny_model(tmp_path_factory.mktemp("tiny"), "llama")


@pytest.fixture(scope="session")
def tiny_windowed(tmp_path_factory: pytest.TempPathFactory) -> TinyModel:
    """Two of its three layers look back at 20 tokens."""
    return write_tiny_model(tmp_path_factory.mktemp("tiny"), "qwen2-window")


@pytest.fixture(scope="session")
def tiny_engine(tiny_llama: TinyModel) -> Iterator[Engine]:
    loaded = load_engine(tiny_llama.folder)
    yield loaded
    loaded.close()
