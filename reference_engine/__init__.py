"""KNOWS: the trusted model. Knows tensors; knows no provider and no HTTP but its own server.

Importing this package is cheap: tensors, and the libraries behind them, are loaded by `load_engine` only.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from reference_engine.errors import (
    CodedError,
    EngineError,
    EngineRequestError,
    ModelFileError,
    ModelNotFoundError,
)
from reference_engine.interface import (
    BARE_ANSWER_TOKENS,
    Address,
    Description,
    Exactness,
    GeneratedToken,
    Message,
    ReferenceBackend,
    Rendered,
    SamplingParams,
    Scored,
    ServableBackend,
    ServedBackend,
    TokenDistribution,
    TokenizerBackend,
    Tool,
)
from reference_engine.options import EngineOptions
from reference_engine.profile import PROFILES, NumericsProfile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reference_engine.engine import Engine

__all__ = [
    "BARE_ANSWER_TOKENS",
    "PROFILES",
    "Address",
    "CodedError",
    "Description",
    "EngineError",
    "EngineOptions",
    "EngineRequestError",
    "Exactness",
    "GeneratedToken",
    "Message",
    "ModelFileError",
    "ModelNotFoundError",
    "NumericsProfile",
    "ReferenceBackend",
    "Rendered",
    "SamplingParams",
    "Scored",
    "ServableBackend",
    "ServedBackend",
    "TokenDistribution",
    "TokenizerBackend",
    "Tool",
    "load_engine",
    "load_tokenizer",
    "noise_cloud",
    "served",
    "served_here",
]

# Threads that spin while they wait make every operation many times slower as soon as another process wants the same
# cores. It has to stand before torch loads its OpenMP runtime.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def load_engine(
    path: str | Path,
    *,
    profile: str = "fp32",
    options: EngineOptions | None = None,
    today: datetime | None = None,
) -> Engine:
    """The model in a GGUF file or a safetensors folder, with `profile` ready to use.

    `today` is the date that chat templates see (default: a fixed one). Raises ModelNotFoundError or ModelFileError
    naming the file and the remedy, EngineRequestError for an unknown profile or options that cannot be.
    """
    from reference_engine.chat import PINNED_DATE
    from reference_engine.engine import open_engine

    return open_engine(Path(path), profile=profile, options=options or EngineOptions(), today=today or PINNED_DATE)


def load_tokenizer(path: str | Path, *, today: datetime | None = None) -> TokenizerBackend:
    """The tokenizer and template of a GGUF file, a model folder or a tokenizer.json; weights are not read.

    Raises ModelNotFoundError or ModelFileError.
    """
    from reference_engine.chat import PINNED_DATE
    from reference_engine.vocabulary import read_tokenizer

    return read_tokenizer(Path(path), today or PINNED_DATE)


def served_here(engine: ServableBackend, *, profile: str = "fp32") -> AbstractContextManager[Address]:
    """The OpenAI-compatible server over `engine` inside this process, on a free port of this machine and behind a token
    of its own, until the context ends; what still runs then is broken off. An answer whose request names no limit has
    BARE_ANSWER_TOKENS. Raises EngineRequestError."""
    from reference_engine.server import ServerSettings
    from reference_engine.server.here import served_here as serve

    return serve(engine, ServerSettings(profile=profile, drain_s=0.0, bare_answer_tokens=BARE_ANSWER_TOKENS))


def served(engine: ServableBackend | ServedBackend, *, profile: str = "fp32") -> AbstractContextManager[Address]:
    """Where conversations are held with `engine`, until the context ends: in its service, or in this process, as
    `served_here` does. Raises EngineError."""
    if isinstance(engine, ServedBackend):
        return nullcontext(engine.served(profile))
    return served_here(engine, profile=profile)


def noise_cloud(
    engine: Engine,
    ids: Sequence[int],
    tokens: Sequence[Sequence[int]],
    *,
    profile: str = "fp32",
    draws: int = 16,
    seed: int = 0,
) -> NDArray[np.float64]:
    """How far lawful deployments of a profile are from `engine`, [draws, len(ids), n] in nats.

    Each draw computes the log-probabilities of `tokens[i]` after position i again, with reduction orders, splits and
    fusions that the profile leaves open drawn at random. `tokens` [len(ids)][n]; -1 is none, its deviation nan. The
    same numbers for the same seed. Raises EngineRequestError.
    """
    from reference_engine import noise

    return noise.noise_cloud(engine, ids, tokens, profile=profile, draws=draws, seed=seed)
