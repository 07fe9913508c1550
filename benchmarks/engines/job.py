"""What one process is asked to measure of one engine, and what it answers: JSON in, JSON out."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
CELLS = ("decode_1", "decode_8", "decode_32", "prefill", "scoring", "ttft")
# Far above what any measurement takes: a process that hangs ends the run some day.
_GUARD_S = 3600
_TAIL = 300


@dataclass(frozen=True)
class Sizes:
    """Numbers of tokens, and of prompts. `compared`: answers that are compared bit for bit, of `compared_new` tokens.
    `repeats`: how often a short cell is measured within a round."""

    prompt: int = 128
    new: int = 64
    prefill: int = 1024
    scored: int = 32
    scored_tokens: int = 256
    top_k: int = 20
    sharing: int = 32
    shared: int = 1024
    own: int = 32
    repetitive: int = 256
    compared: int = 8
    compared_new: int = 16
    repeats: int = 3


FULL = Sizes()
QUICK = Sizes(
    prompt=32,
    new=8,
    prefill=256,
    scored=4,
    scored_tokens=64,
    sharing=4,
    shared=256,
    own=16,
    repetitive=32,
    compared=3,
    compared_new=4,
    repeats=1,
)


@dataclass(frozen=True)
class Job:
    """`module` opens the engine and `what` names the measurement; `options` are the engine's own."""

    module: str
    what: str
    model: str
    options: Mapping[str, Any]
    threads: int
    seed: int
    sizes: Sizes
    cells: tuple[str, ...] = CELLS

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        fields = json.loads(text)
        return cls(**{**fields, "sizes": Sizes(**fields["sizes"]), "cells": tuple(fields["cells"])})


@dataclass(frozen=True)
class Answer:
    """`found`: what was measured, by name; `about`: the versions that measured it."""

    found: Mapping[str, Any]
    about: Mapping[str, str]


class LeftOutError(Exception):
    """An engine cannot be measured here, for the reason given."""


def ask(python: Path, job: Job) -> Answer:
    """Runs the job in a process of `python`. Raises LeftOutError where that gives no figures."""
    threads = str(job.threads)
    environment = {**os.environ, "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads, "HF_HUB_OFFLINE": "1"}
    if not python.exists():
        raise LeftOutError("its Python is not there: run make bench-peers")
    done = subprocess.run(
        [str(python), "-m", "benchmarks.engines.worker"],
        input=job.to_json(),
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_GUARD_S,
        check=False,
    )
    if done.returncode != 0:
        raise LeftOutError(f"ended with {done.returncode}: {done.stderr.strip()[-_TAIL:]}")
    answer = json.loads(done.stdout)
    if "left_out" in answer:
        raise LeftOutError(answer["left_out"])
    return Answer(answer["found"], answer["about"])
