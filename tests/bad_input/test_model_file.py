"""`monitor probe` with a reference that cannot be used: said before anything is sent or written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import gguf
import pytest

from tests.endpoints.lawful import Lawful
from tests.endpoints.server import ScriptedServer
from tests.installation import Installation, assert_says_nothing_private


def cut_in_its_header(folder: Path, bundled: Path) -> Path:
    return _first_bytes(folder, bundled, 100_000)


def cut_in_its_tensors(folder: Path, bundled: Path) -> Path:
    return _first_bytes(folder, bundled, 20_000_000)


def _first_bytes(folder: Path, bundled: Path, count: int) -> Path:
    path = folder / "lark.gguf"
    with bundled.open("rb") as whole:
        path.write_bytes(whole.read(count))
    return path


def of_unknown_architecture(folder: Path, _: Path) -> Path:
    path = folder / "lark.gguf"
    writer = gguf.GGUFWriter(path, "mamba")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def no_gguf(folder: Path, _: Path) -> Path:
    path = folder / "lark.gguf"
    path.write_text("version https://git-lfs.github.com/spec/v1\n")
    return path


def missing(folder: Path, _: Path) -> Path:
    return folder / "lark.gguf"


BAD_WEIGHTS = [
    (cut_in_its_header, "model_file_invalid", "ends", "Fetch the file again"),
    (cut_in_its_tensors, "model_file_invalid", "ends", "Fetch the file again"),
    (of_unknown_architecture, "model_file_invalid", "'mamba'; supported: llama,", "a supported architecture"),
    (no_gguf, "model_file_invalid", "is not a GGUF file", "Fetch the file again"),
    (missing, "model_not_found", "There is no model at", "Give a .gguf file"),
]


@pytest.mark.parametrize(
    ("weights", "code", "says", "remedy"), BAD_WEIGHTS, ids=[weights.__name__ for weights, *_ in BAD_WEIGHTS]
)
def test_weights_that_cannot_be_used(
    installation: Installation,
    bundled_model: Path,
    weights: Callable[[Path, Path], Path],
    code: str,
    says: str,
    remedy: str,
) -> None:
    path = weights(installation.folder, bundled_model)
    with ScriptedServer(Lawful()) as server:
        installation.configure(server.base_url, reference={"weights": str(path)})
        ran = installation.probe("--json")

    assert (ran.code, ran.err) == (6, "")
    error = ran.document["error"]
    assert (error["code"], error["exit_code"]) == (code, 6)
    assert str(path) in error["message"]
    assert says in error["message"]
    assert remedy in error["remedy"]
    assert_says_nothing_private(ran)
    assert server.received == []
    assert not installation.data.exists()


def test_a_tokenizer_that_is_not_there(installation: Installation) -> None:
    with ScriptedServer(Lawful()) as server:
        installation.configure(server.base_url, reference={"tokenizer": "lark/tokenizer.json"})
        ran = installation.probe()

    assert (ran.code, ran.out) == (6, "")
    message, remedy = ran.err.splitlines()
    assert message.startswith("error[model_not_found]: There is no tokenizer ")
    assert str(installation.folder / "lark" / "tokenizer.json") in message
    assert remedy == "Give the model's tokenizer.json beside its weights."
    assert server.received == []
    assert not installation.data.exists()
