"""Weights from a folder as transformers saves it: config.json and one or several *.safetensors files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import Tensor

from reference_engine.errors import ModelFileError, ModelNotFoundError
from reference_engine.jsonfile import read_json
from reference_engine.model.config import ModelConfig, config_from_json
from reference_engine.model.layout import HEAD, expected_tensors, transformers_name
from reference_engine.weights.source import Blocks, check_tensors, files_sha256

_INDEX = "model.safetensors.index.json"
_FLOATS = ("F64", "F32", "F16", "BF16")
_FETCH_AGAIN = "Fetch the model's files again."


class SafetensorsSource:
    """Implements WeightSource. The files stay open and mapped; a tensor is read when it is asked for."""

    format = "safetensors"

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self.config: ModelConfig = config_from_json(folder / "config.json", read_json(folder / "config.json"))
        self._files = _weight_files(folder)
        self._handles = [_opened(file) for file in self._files]
        self._holder = {name: handle for handle in self._handles for name in handle.keys()}  # noqa: SIM118
        self._names = {name: transformers_name(name) for name in expected_tensors(self.config)}
        check_tensors(folder, self.config, self._shapes(), _ignored(self.config))

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        ours = {theirs: name for name, theirs in self._names.items()}
        shapes = {}
        for theirs, handle in self._holder.items():
            if theirs.endswith("rotary_emb.inv_freq"):
                continue
            view = handle.get_slice(theirs)
            if view.get_dtype() not in _FLOATS:
                raise ModelFileError(
                    f"{self.path}: tensor {theirs!r} has the element type {view.get_dtype()}; "
                    f"supported: {', '.join(_FLOATS)}.",
                    remedy="Use weights that are not quantized.",
                )
            shapes[ours.get(theirs, theirs)] = tuple(view.get_shape())
        return shapes

    def read(self, name: str, out: Tensor) -> None:
        out.copy_(self._holder[self._names[name]].get_tensor(self._names[name]))

    def blocks(self, name: str) -> Blocks | None:  # noqa: ARG002
        return None

    def rope_factors(self) -> Tensor | None:
        return None

    def sha256(self) -> str:
        return files_sha256([self.path / "config.json", *self._files])


def _ignored(config: ModelConfig) -> frozenset[str]:
    """A tied model may still store its head; transformers ignores it too."""
    return frozenset({transformers_name(HEAD)}) if config.tied_head else frozenset()


def _weight_files(folder: Path) -> list[Path]:
    if (folder / _INDEX).exists():
        index = read_json(folder / _INDEX).get("weight_map")
        if not isinstance(index, dict) or not index:
            raise ModelFileError(f"{folder / _INDEX} has no 'weight_map'.", remedy=_FETCH_AGAIN)
        files = sorted({folder / Path(str(name)).name for name in index.values()})
    else:
        files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise ModelNotFoundError(f"There is no *.safetensors file in {folder}.", remedy=_FETCH_AGAIN)
    return files


def _opened(file: Path) -> Any:
    try:
        return safe_open(file, framework="pt")
    except FileNotFoundError:
        raise ModelNotFoundError(f"There is no weights file {file}.", remedy=_FETCH_AGAIN) from None
    except (SafetensorError, OSError) as error:
        raise ModelFileError(f"{file} is not a whole safetensors file: {error}.", remedy=_FETCH_AGAIN) from error
