"""Who takes part in a run: our profiles and the peers, each with the interpreter and the file it needs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.foreign_endpoint import QUANTIZE

OUR_PROFILES = ("fp32", "w8a8", "w4-g64")
KINDS = ("Q4_1", "Q4_0", "Q8_0", "F16")
# What a first look at every file found best of each in some column, here and on an AMD Zen 3.
BEST_FILES: Mapping[str, Sequence[str]] = {"llama.cpp": ("Q4_0", "F16"), "openvino-genai": ("Q4_0", "Q8_0")}
EVERY_FILE: Mapping[str, Sequence[str]] = dict.fromkeys(BEST_FILES, KINDS)
_BUNDLED = "Q4_1"
_MODULES = {"llama.cpp": "llama_peer", "openvino-genai": "openvino_peer"}


@dataclass(frozen=True)
class Contender:
    """`module` opens it in a process of `python`; `options` are its own. `ours`: not a peer."""

    name: str
    ours: bool
    python: Path
    module: str
    model: Path
    options: Mapping[str, Any] = field(default_factory=dict)


def line_up(model: Path, peers: Path, folder: Path, files: Mapping[str, Sequence[str]] = BEST_FILES) -> list[Contender]:
    """The bundled file under our profiles, and what llama.cpp's quantizer makes of it in the peers, as `files` says.

    The files of the quantizer are not there before `requantize` has made them.
    """
    here = Path(sys.executable)
    paths = {_BUNDLED: model} | {kind: folder / f"{kind}.gguf" for kind in KINDS if kind != _BUNDLED}
    return [
        *(_ours(profile, model) for profile in OUR_PROFILES),
        _peer("transformers fp32", here, "transformers_peer", model),
        *(
            _peer(f"{name} {kind}", peers, _MODULES[name], paths[kind])
            for name, kinds in files.items()
            for kind in kinds
        ),
    ]


def _ours(profile: str, model: Path) -> Contender:
    return Contender(
        f"ours {profile}", True, Path(sys.executable), "benchmarks.engines.ours", model, {"profile": profile}
    )


def _peer(name: str, python: Path, module: str, model: Path) -> Contender:
    return Contender(name, False, python, f"benchmarks.engines.{module}", model)


def requantize(peers: Path, model: Path, contenders: list[Contender]) -> None:
    """Makes the files that contenders name; none where llama.cpp is not installed."""
    for file in {contender.model for contender in contenders if peers.exists()} - {model}:
        with (file.parent / "quantize.log").open("ab") as log:
            command = [str(peers), "-c", QUANTIZE, str(model), str(file), file.stem]
            subprocess.run(command, check=False, stdout=log, stderr=log)
