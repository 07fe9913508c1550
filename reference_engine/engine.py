"""The trusted model in this process: scores, next-token distributions and seeded generation under named profiles."""

from __future__ import annotations

import itertools
import math
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path

from reference_engine.checks import check_sampling, check_start, check_top_k, checked_ids, known_ids
from reference_engine.constraint import Constraint
from reference_engine.errors import EngineRequestError, ModelFileError, ModelNotFoundError
from reference_engine.families import shared_beginnings
from reference_engine.figures import Figures
from reference_engine.forward.batch import ReadOut
from reference_engine.identity import described, fingerprint
from reference_engine.interface import (
    Description,
    Exactness,
    GeneratedToken,
    Message,
    Rendered,
    SamplingParams,
    Scored,
    TokenDistribution,
    Tool,
)
from reference_engine.jobs import GenerateJob, ScoreJob, top_of
from reference_engine.lane import Lane
from reference_engine.lanes import Lanes
from reference_engine.loop import Step
from reference_engine.masks import Masks
from reference_engine.model.config import ModelConfig
from reference_engine.model.tensors import ModelWeights
from reference_engine.options import EngineOptions
from reference_engine.profile import profile_named
from reference_engine.sched.request import Request
from reference_engine.scoring import Scoring
from reference_engine.structure import Structure
from reference_engine.token_stream import TokenStream
from reference_engine.tokenizer import ModelTokenizer
from reference_engine.vocabulary import tokenizer_from_folder, tokenizer_from_gguf
from reference_engine.weights.gguf import open_gguf
from reference_engine.weights.gguf_source import GGUFSource
from reference_engine.weights.safetensors import SafetensorsSource
from reference_engine.weights.source import WeightSource


class Engine:
    """Implements ServableBackend. Safe for several threads; requests under the same profile run in one batch."""

    def __init__(self, source: WeightSource, tokenizer: ModelTokenizer, options: EngineOptions) -> None:
        self._source = source
        self._config = source.config
        self._tokenizer = tokenizer
        self._lanes = Lanes(source, options)
        self._loop = self._lanes.loop
        self._ids = itertools.count()
        self._mask_maker = ThreadPoolExecutor(2, thread_name_prefix="engine-masks")
        self.structure = Structure(tokenizer, source.config.vocab_size)

    def tokenize(self, text: str, *, parse_special: bool = True) -> list[int]:
        return self._tokenizer.tokenize(text, parse_special=parse_special)

    def token_bytes(self, token_id: int) -> bytes:
        return self._tokenizer.token_bytes(token_id)

    def render(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] | None = None,
        *,
        chat_template: str | None = None,
        add_generation_prompt: bool = True,
    ) -> Rendered:
        return self._tokenizer.render(
            messages, tools, chat_template=chat_template, add_generation_prompt=add_generation_prompt
        )

    def describe(self) -> Description:
        return described(self._source, self._tokenizer)

    def fingerprint(self, profile: str) -> str:
        known = profile_named(profile)
        return fingerprint(self._source, self._tokenizer, known, self._lanes.arithmetic(known))

    def exactness(self, profile: str) -> tuple[Exactness, str | None]:
        """What the numbers of a profile are on this machine, and what speaks against `bitwise`."""
        with self._lanes.using(profile) as lane:
            return lane.exactness, lane.remark

    def score(
        self,
        ids: Sequence[int],
        *,
        start: int = 0,
        top_k: int = 20,
        token_ids: Sequence[int] | None = None,
        profile: str = "fp32",
    ) -> Scored:
        """The distributions at positions `start` … `len(ids)`.

        Nothing precedes position 0: its log-probability and rank are None and its top is empty. Raises
        EngineRequestError for ids, positions or names that do not exist.
        """
        return self.scoring(ids, start=start, top_k=top_k, token_ids=token_ids, profile=profile).result()

    def scoring(
        self,
        ids: Sequence[int],
        *,
        start: int = 0,
        top_k: int = 20,
        token_ids: Sequence[int] | None = None,
        profile: str = "fp32",
    ) -> Scoring:
        """What `score` gives, computed when its result is asked for. Raises EngineRequestError at once."""
        vocabulary, context = self._config.vocab_size, self._config.context_length
        prompt, chosen = checked_ids(ids, vocabulary, context), known_ids(token_ids or (), vocabulary)
        check_start(start, len(prompt))
        check_top_k(top_k, vocabulary)
        profile_named(profile)
        job = self._score_job(prompt, max(start, 1), top_k, chosen)
        return Scoring(job, lambda: self._scored(job, prompt, start, profile))

    def next_tokens(
        self,
        prompts: Sequence[Sequence[int]],
        *,
        top_k: int = 20,
        token_ids: Sequence[Sequence[int]] | None = None,
        profile: str = "fp32",
    ) -> list[TokenDistribution]:
        """The next-token distribution of each prompt, in order. Raises EngineRequestError as `score` does."""
        vocabulary, context = self._config.vocab_size, self._config.context_length
        checked = [checked_ids(ids, vocabulary, context) for ids in prompts]
        chosen = [known_ids(ids, vocabulary) for ids in token_ids or [()] * len(checked)]
        if len(chosen) != len(checked):
            raise EngineRequestError(
                f"token_ids has {len(chosen)} entries for {len(checked)} prompts.", remedy="Give one entry per prompt."
            )
        check_top_k(top_k, vocabulary)
        profile_named(profile)
        if not checked:
            return []
        with self._lanes.using(profile) as lane:
            beginnings = shared_beginnings(checked)
            self._results(lane, [self._score_job(ids, len(ids), 0, ()) for ids in beginnings])
            pairs = zip(checked, chosen, strict=True)
            found = self._results(lane, [self._score_job(ids, len(ids), top_k, own) for ids, own in pairs])
        return [
            _distribution(read, 0, len(ids), None, own) for read, ids, own in zip(found, checked, chosen, strict=True)
        ]

    def generate(
        self,
        ids: Sequence[int],
        params: SamplingParams,
        *,
        profile: str = "fp32",
        constraint: Constraint | None = None,
    ) -> Iterator[GeneratedToken]:
        """Tokens one by one, made in the batch whether or not they are taken; closing the iterator ends them, from any
        thread. A wrong request raises EngineRequestError at once. Nothing is drafted for a constrained answer."""
        prompt = checked_ids(ids, self._config.vocab_size, self._config.context_length - 1)
        check_sampling(params, self._config.vocab_size)
        profile_named(profile)
        most = min(params.max_tokens, self._config.context_length - len(prompt))
        job = GenerateJob(
            request=Request(self._new_id(), prompt, max_tokens=most, drafts=constraint is None),
            params=params,
            seed=secrets.randbits(64) if params.seed is None else params.seed,
            stops=self._tokenizer.facts.stops,
            shown_bytes=partial(self._tokenizer.shown_bytes, besides=frozenset(params.shown)),
            masks=None if constraint is None else Masks(constraint, self._config.vocab_size, self._mask_maker),
        )
        return TokenStream(self._generated(job, profile), job.give_up)

    def close(self) -> None:
        """Lets the weights go. Every later request for numbers raises EngineError."""
        self._lanes.close()
        self._mask_maker.shutdown()

    def prepare(self, profile: str) -> None:
        """Builds the weights of `profile` now rather than with the first request."""
        with self._lanes.using(profile):
            pass

    def tensors(self, profile: str) -> tuple[ModelConfig, ModelWeights]:
        """The weights of a profile as tensors, for whoever computes with them beside the engine."""
        return self._config, self._lanes.tensors(profile_named(profile))

    def lanes(self) -> list[Lane]:
        """One for each profile in memory."""
        return self._lanes.open()

    def figures(self) -> Figures:
        lanes = self.lanes()
        counts = Counter[str]()
        for lane in lanes:
            counts.update(asdict(lane.counts))
        return Figures(
            counts=counts,
            recorded_positions=sum(lane.recorded_positions for lane in lanes),
            passes=self._loop.passes,
            rows=self._loop.rows,
            kv_bytes=self._lanes.kv_bytes,
            kv_bytes_used=self._lanes.kv_bytes_used,
        )

    def trace(self) -> list[Step]:
        """The last passes, the oldest first."""
        return self._loop.trace

    def _scored(self, job: ScoreJob, prompt: Sequence[int], start: int, profile: str) -> Scored:
        with self._lanes.using(profile) as lane:
            (read,) = self._results(lane, [job])
            exactness = lane.exactness
        first, chosen = max(start, 1), job.chosen
        positions = [_unconditional(prompt[0])] if start == 0 else []
        own = [*prompt[first:], None]
        positions += [_distribution(read, line, first + line, own[line], chosen) for line in range(len(own))]
        return Scored(tuple(prompt), tuple(positions), profile, self.fingerprint(profile), exactness)

    def _generated(self, job: GenerateJob, profile: str) -> Iterator[GeneratedToken]:
        with self._lanes.using(profile) as lane:
            self._loop.submit(lane, job)
            try:
                while True:
                    token = job.tokens.get()
                    if token is None:
                        return
                    if isinstance(token, BaseException):
                        raise token
                    yield token
                    if token.finish_reason is not None:
                        return
            finally:
                self._loop.abort(lane, job.request.id)

    def _score_job(self, ids: list[int] | Sequence[int], start: int, top_k: int, chosen: Sequence[int]) -> ScoreJob:
        return ScoreJob(Request(self._new_id(), ids, start=start), top_k, chosen)

    def _results(self, lane: Lane, jobs: Sequence[ScoreJob]) -> list[ReadOut]:
        for job in jobs:
            self._loop.submit(lane, job)
        try:
            return [job.result.result() for job in jobs]
        except BaseException:
            for job in jobs:
                self._loop.abort(lane, job.request.id)
            raise

    def _new_id(self) -> str:
        return f"r{next(self._ids)}"


def _unconditional(token_id: int) -> TokenDistribution:
    return TokenDistribution(0, token_id, None, None, (), {}, 1.0)


def _distribution(
    read: ReadOut, line: int, index: int, token_id: int | None, chosen: Sequence[int]
) -> TokenDistribution:
    normaliser = float(read.log_normaliser[line])
    top = top_of(read, line)
    known = token_id is not None
    return TokenDistribution(
        index=index,
        token_id=token_id,
        logprob=float(read.own_logit[line]) - normaliser if known else None,
        rank=int(read.own_rank[line]) if known else None,
        top=top,
        chosen=dict(zip(chosen, (read.chosen_logits[line].astype("float64") - normaliser).tolist(), strict=True)),
        tail_mass=max(0.0, 1.0 - sum(map(math.exp, (logprob for _, logprob in top)))),
    )


def open_engine(path: Path, *, profile: str, options: EngineOptions, today: datetime) -> Engine:
    """From a GGUF file or a safetensors folder. Raises ModelNotFoundError, ModelFileError or EngineRequestError."""
    profile_named(profile)
    if path.is_dir():
        tokenizer = tokenizer_from_folder(path, today)
        source: WeightSource = SafetensorsSource(path)
    elif path.exists():
        file = open_gguf(path)
        source = GGUFSource(file)
        tokenizer = tokenizer_from_gguf(file, today)
    else:
        raise ModelNotFoundError(f"There is no model at {path}.", remedy="Check the path of the weights.")
    if tokenizer.largest_id >= source.config.vocab_size:
        raise ModelFileError(
            f"{path}: the tokenizer has ids up to {tokenizer.largest_id}, the weights only {source.config.vocab_size}.",
            remedy="Use the tokenizer that belongs to these weights.",
        )
    engine = Engine(source, tokenizer, options)
    engine.prepare(profile)
    return engine
