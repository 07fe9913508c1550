"""Who takes part in a run: our profiles and the peers, each with the interpreter and the file it needs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.foreign_endpoint import QUANTIZE
from reference_engine import PROFILES

OUR_PROFILES = ("fp32", "w8a8", "w4-g64")
REQUANTIZED = ("Q4_0", "Q8_0", "F16")


@dataclass(frozen=True)
class Contender:
    """`module` opens it in a process of `python`; `options` are its own. `ours`: not a peer."""

    name: str
    ours: bool
    python: Path
    module: str
    model: Path
    options: Mapping[str, Any] = field(default_factory=dict)


def line_up(model: Path, peers: Path, folder: Path) -> list[Contender]:
    """The bundled file under our profiles and in every peer, and what llama.cpp's quantizer makes of it in two.

    The files of the quantizer are not there before `requantize` has made them.
    """
    here = Path(sys.executable)
    files = {"Q4_1": model, **{kind: folder / f"{kind}.gguf" for kind in REQUANTIZED}}
    return [
        *(_ours(profile, model) for profile in OUR_PROFILES if profile in PROFILES),
        *(_peer(f"llama.cpp {kind}", peers, "llama_peer", file) for kind, file in files.items()),
        _peer("transformers fp32", here, "transformers_peer", model),
        *(_peer(f"openvino-genai {kind}", peers, "openvino_peer", file) for kind, file in files.items()),
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
