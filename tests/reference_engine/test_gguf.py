"""Model files that are damaged, foreign, or not what they claim to be."""

from __future__ import annotations

import re
from pathlib import Path

import gguf
import numpy as np
import pytest

from reference_engine import ModelFileError, ModelNotFoundError, load_engine, load_tokenizer
from reference_engine.weights.gguf import open_gguf
from tests.reference_engine.tiny_models import TinyModel, gguf_tensors, write_gguf


@pytest.fixture(scope="module")
def tiny_gguf(tmp_path_factory: pytest.TempPathFactory, tiny_llama: TinyModel) -> bytes:
    return write_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf", tiny_llama, "llama").read_bytes()


def load_bytes(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    load_engine(path)


def test_metadata_and_tensors_are_those_the_package_reads(tmp_path: Path, tiny_gguf: bytes) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(tiny_gguf)
    theirs = gguf.GGUFReader(path)

    ours = open_gguf(path)

    fields = {key: field.contents() for key, field in theirs.fields.items() if not key.startswith("GGUF.")}
    assert ours.metadata == fields
    assert {name: (info.offset, info.nbytes) for name, info in ours.tensors.items()} == {
        tensor.name: (tensor.data_offset, tensor.n_bytes) for tensor in theirs.tensors
    }


def test_a_file_cut_short_anywhere_is_refused_by_name(tmp_path: Path, tiny_gguf: bytes) -> None:
    path = tmp_path / "cut.gguf"
    header = tiny_gguf.index(b"blk.0.attn_norm.weight")
    offsets = [*range(4, 40), *range(40, header, 97), *range(header, len(tiny_gguf), 4999), len(tiny_gguf) - 1]

    for length in offsets:
        with pytest.raises(ModelFileError) as caught:
            load_bytes(path, tiny_gguf[:length])
        assert f"{path} is cut short" in str(caught.value)
        assert f"the file has {length} bytes" in str(caught.value)
        assert "Fetch the file again" in caught.value.remedy


@pytest.mark.parametrize("start", [b"", b"GG", b"FUGG", b"<!DOCTYPE html>", b"PK\x03\x04"])
def test_a_file_that_is_no_gguf_is_refused(tmp_path: Path, tiny_gguf: bytes, start: bytes) -> None:
    path = tmp_path / "page.gguf"

    with pytest.raises(ModelFileError, match=re.escape(f"{path} is not a GGUF file: it starts with {start[:4]!r}")):
        load_bytes(path, start + tiny_gguf[4:] if start == b"FUGG" else start)


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"nowhere\.gguf"):
        load_engine(tmp_path / "nowhere.gguf")
    with pytest.raises(ModelNotFoundError, match=r"nowhere\.gguf"):
        load_tokenizer(tmp_path / "nowhere.gguf")


def test_another_version_is_refused(tmp_path: Path, tiny_gguf: bytes) -> None:
    with pytest.raises(ModelFileError, match="GGUF version 9 is not supported"):
        load_bytes(tmp_path / "new.gguf", tiny_gguf[:4] + (9).to_bytes(4, "little") + tiny_gguf[8:])


def test_an_unknown_value_type_is_refused(tmp_path: Path, tiny_gguf: bytes) -> None:
    key = b"llama.block_count"
    at = tiny_gguf.index(key) + len(key)

    with pytest.raises(ModelFileError, match="unknown value type 77"):
        load_bytes(tmp_path / "odd.gguf", tiny_gguf[:at] + (77).to_bytes(4, "little") + tiny_gguf[at + 4 :])


def test_an_unknown_quantization_is_refused(tmp_path: Path, tiny_gguf: bytes) -> None:
    name = b"output_norm.weight"
    at = tiny_gguf.index(name) + len(name) + 4 + 8

    with pytest.raises(ModelFileError, match=r"'output_norm\.weight' has the unknown quantization type 199"):
        load_bytes(tmp_path / "odd.gguf", tiny_gguf[:at] + (199).to_bytes(4, "little") + tiny_gguf[at + 4 :])


def test_an_unknown_architecture_is_refused_with_the_known_ones(tmp_path: Path, tiny_llama: TinyModel) -> None:
    path = write_gguf(tmp_path / "phi.gguf", tiny_llama, "phi3")

    with pytest.raises(ModelFileError, match="unknown architecture 'phi3'; supported: llama, mistral, qwen2, qwen3"):
        load_engine(path)


@pytest.mark.parametrize("name", ["token_embd.weight", "output_norm.weight", "blk.1.ffn_up.weight"])
def test_a_missing_tensor_is_named(tmp_path: Path, tiny_llama: TinyModel, name: str) -> None:
    tensors = {key: values for key, values in gguf_tensors(tiny_llama, "llama").items() if key != name}
    path = write_gguf(tmp_path / "tiny.gguf", tiny_llama, "llama", tensors=tensors)

    with pytest.raises(ModelFileError, match=re.escape(f"tensor '{name}' is missing")):
        load_engine(path)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"blk.0.attn_k.weight": np.zeros((24, 48), np.float32)}, r"'blk.0.attn_k.weight' has shape \(24, 48\)"),
        ({"blk.0.attn_sinks.weight": np.zeros(6, np.float32)}, "'blk.0.attn_sinks.weight' is not part of the llama"),
        ({"rope_freqs.weight": np.ones(7, np.float32)}, r"'rope_freqs.weight' has shape \(7,\), expected \(4,\)"),
        (
            {"blk.2.ffn_norm.weight": np.full(48, np.nan, np.float32)},
            "'blk.2.ffn_norm.weight' holds values that are not",
        ),
    ],
)
def test_a_tensor_that_does_not_fit_is_named(
    tmp_path: Path, tiny_llama: TinyModel, change: dict[str, np.ndarray], named: str
) -> None:
    tensors = gguf_tensors(tiny_llama, "llama") | change
    path = write_gguf(tmp_path / "tiny.gguf", tiny_llama, "llama", tensors=tensors)

    with pytest.raises(ModelFileError, match=named):
        load_engine(path)


@pytest.mark.parametrize(
    ("extra", "named"),
    [
        ({"llama.expert_count": 8}, "a mixture of experts"),
        ({"llama.logit_scale": 0.5}, "the factor llama.logit_scale"),
        ({"llama.rope.dimension_count": 4}, "llama.rope.dimension_count = 4 with heads of 8"),
        ({"llama.rope.scaling.type": "yarn"}, "rotary scaling 'yarn'"),
        ({"llama.rope.scaling.type": "linear"}, "'llama.rope.scaling.factor' is missing"),
        ({"llama.attention.key_length": "eight"}, "'llama.attention.key_length' is a str, not a int"),
    ],
)
def test_a_feature_that_would_be_computed_wrongly_is_refused(
    tmp_path: Path, tiny_llama: TinyModel, extra: dict[str, int | float | str], named: str
) -> None:
    path = write_gguf(tmp_path / "tiny.gguf", tiny_llama, "llama", extra=extra)

    with pytest.raises(ModelFileError, match=named):
        load_engine(path)


def test_weights_without_a_tokenizer_are_refused(tmp_path: Path, tiny_llama: TinyModel) -> None:
    path = write_gguf(tmp_path / "tiny.gguf", tiny_llama, "llama", tokenizer=False)

    with pytest.raises(ModelFileError, match=r"tokenizer.ggml.tokens' is missing"):
        load_engine(path)


def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path, tiny_llama: TinyModel) -> None:
    for file in tiny_llama.folder.iterdir():
        if file.name != "tokenizer.json":
            (tmp_path / file.name).write_bytes(file.read_bytes())

    with pytest.raises(ModelNotFoundError, match=r"tokenizer\.json"):
        load_engine(tmp_path)


@pytest.mark.parametrize("keep", [0, 3, 8, 500, 20_000])
def test_a_safetensors_file_cut_short_is_named(tmp_path: Path, tiny_llama: TinyModel, keep: int) -> None:
    for file in tiny_llama.folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:keep])

    with pytest.raises(ModelFileError, match=re.escape(f"{weights} is not a whole safetensors file")):
        load_engine(tmp_path)
