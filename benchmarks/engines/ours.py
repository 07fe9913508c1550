"""Our engine, through its public interface; as many threads ask it as there are prompts."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from importlib import metadata
from itertools import chain
from pathlib import Path

import numpy as np
import torch

from benchmarks.engines.job import Job
from benchmarks.engines.subject import Generated, NotOfferedError, Prompt
from reference_engine import ReferenceBackend, SamplingParams, TokenDistribution
from reference_engine.chat import PINNED_DATE
from reference_engine.engine import open_engine
from reference_engine.forward.choice import Choice, Loaded
from reference_engine.model.layout import expected_tensors
from reference_engine.options import EngineOptions
from reference_engine.profile import profile_named
from reference_engine.weights.gguf import open_gguf
from reference_engine.weights.gguf_source import GGUFSource

_TOP = 20
# As much as the peer with a cache of its own is given.
_KV_BYTES = 2 << 30


class Ours:
    """One profile of our engine."""

    def __init__(self, engine: ReferenceBackend, profile: str) -> None:
        self._engine = engine
        self._profile = profile
        self.vocabulary = engine.describe().vocab_size

    def about(self) -> Mapping[str, str]:
        exactness = self._engine.score([0], profile=self._profile).exactness
        return {"torch": torch.__version__, "endpoint-monitor": metadata.version("endpoint-monitor"), "says": exactness}

    def generate(self, prompts: Sequence[Prompt], new: int) -> Generated:
        params = SamplingParams(max_tokens=new, temperature=0.0, ignore_eos=True)

        def times(prompt: Prompt) -> list[float]:
            tokens = self._engine.generate(prompt, params, profile=self._profile)
            return [time.perf_counter() for _ in tokens]

        with ThreadPoolExecutor(len(prompts)) as threads:
            start = time.perf_counter()
            return Generated(start, list(threads.map(times, prompts)))

    def score(self, prompts: Sequence[Prompt], top_k: int) -> None:
        self.score_after(prompts, 0, top_k)

    def score_after(self, prompts: Sequence[Prompt], start: int, top_k: int) -> None:
        """Scores the positions from `start` on."""
        with ThreadPoolExecutor(len(prompts)) as threads:
            list(
                threads.map(
                    lambda prompt: self._engine.score(prompt, start=start, top_k=top_k, profile=self._profile), prompts
                )
            )

    def logprobs(self, prompts: Sequence[Prompt], new: int) -> list[list[float]]:
        """Those of the answer, of the next token as `next_tokens` gives them, and of the prompt's own tokens."""
        following = self._engine.next_tokens(prompts, top_k=_TOP, profile=self._profile)
        with ThreadPoolExecutor(len(prompts)) as threads:
            answers = threads.map(lambda prompt: self._answer(prompt, new), prompts)
            scored = threads.map(self._scored, prompts)
            return [answer + _numbers(one) + own for answer, one, own in zip(answers, following, scored, strict=True)]

    def logprobs_after(self, prompt: Prompt, known: int, new: int) -> list[float]:
        self._answer(prompt[:known], 1)
        self._engine.score(prompt[:known], profile=self._profile)
        (numbers,) = self.logprobs([prompt], new)
        return numbers

    def _answer(self, prompt: Prompt, new: int) -> list[float]:
        params = SamplingParams(max_tokens=new, temperature=0.0, ignore_eos=True, top_k_logprobs=_TOP)
        tokens = self._engine.generate(prompt, params, profile=self._profile)
        return [number for token in tokens for number in (token.token_id, token.logprob, *chain(*token.top))]

    def _scored(self, prompt: Prompt) -> list[float]:
        scored = self._engine.score(prompt, top_k=_TOP, profile=self._profile)
        return [number for position in scored.positions for number in _numbers(position)]

    def close(self) -> None:
        self._engine.close()


def _numbers(position: TokenDistribution) -> list[float]:
    return [*([] if position.logprob is None else [position.logprob]), *chain(*position.top)]


def load_weights(job: Job) -> Loaded:
    """The weights of a profile as the engine holds them, without tokenizer and memory for keys and values."""
    source = GGUFSource(open_gguf(Path(job.model)))
    choice = Choice(source, kept=1, threads=job.threads)
    return choice.load(profile_named(job.options["profile"]), np.zeros(0, np.uint8))


def float32_bytes(job: Job) -> int:
    shapes = expected_tensors(GGUFSource(open_gguf(Path(job.model))).config).values()
    return sum(map(math.prod, shapes)) * np.dtype(np.float32).itemsize


def open_subject(job: Job) -> Ours:
    """Raises NotOfferedError for an option that the engine does not have."""
    torch.set_num_threads(job.threads)
    options = {"kv_bytes": _KV_BYTES, "threads": job.threads, **job.options}
    profile = options.pop("profile")
    unknown = options.keys() - {field.name for field in fields(EngineOptions)}
    if unknown:
        raise NotOfferedError(f"EngineOptions has no {', '.join(sorted(unknown))}")
    engine = open_engine(Path(job.model), profile=profile, options=EngineOptions(**options), today=PINNED_DATE)
    return Ours(engine, profile)
