"""The trusted model in this process: scores, next-token distributions and seeded generation under named profiles."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import torch
from torch import Tensor

from reference_engine.answer import AnswerText
from reference_engine.checks import check_sampling, check_start, check_top_k, checked_ids, known_ids
from reference_engine.distribution import Wanted, distributions, log_normaliser, top_tokens
from reference_engine.errors import EngineError, EngineRequestError, ModelFileError, ModelNotFoundError
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
from reference_engine.kv import KVCache
from reference_engine.model.decoder import Decoder
from reference_engine.prefill import LastPrompt, extend, last_hidden
from reference_engine.profile import profile_named
from reference_engine.sample import sample
from reference_engine.tokenizer import ModelTokenizer
from reference_engine.vocabulary import tokenizer_from_folder, tokenizer_from_gguf
from reference_engine.weights.gguf import open_gguf
from reference_engine.weights.gguf_source import GGUFSource
from reference_engine.weights.safetensors import SafetensorsSource
from reference_engine.weights.source import WeightSource
from reference_engine.weights.store import WeightStore

EXACTNESS: Exactness = "approx"
"""Rows agree bitwise over batches and chunks on some processors only: 2e-5 nat apart is the most seen."""

_HEAD_ROWS = 64


class Engine:
    """Implements ReferenceBackend. Safe for several threads: one forward pass runs at a time."""

    def __init__(self, source: WeightSource, tokenizer: ModelTokenizer, *, kept_profiles: int) -> None:
        self._source = source
        self._config = source.config
        self._tokenizer = tokenizer
        self._store: WeightStore | None = WeightStore(source, kept=kept_profiles)
        self._lock = threading.RLock()
        self._last = LastPrompt()

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
        return described(self._source, self._tokenizer, EXACTNESS)

    def fingerprint(self, profile: str) -> str:
        return fingerprint(self._source, self._tokenizer, profile_named(profile))

    @torch.inference_mode()
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
        vocabulary, context = self._config.vocab_size, self._config.context_length
        prompt, chosen = checked_ids(ids, vocabulary, context), known_ids(token_ids or (), vocabulary)
        check_start(start, len(prompt))
        check_top_k(top_k, vocabulary)
        positions = [_unconditional(prompt[0])] if start == 0 else []
        with self._lock:
            decoder = self._decoder(profile)
            cache = KVCache(self._config, 1, len(prompt))
            for hidden, places in extend(decoder, cache, [prompt], 0):
                wanted = [Wanted(at + 1, prompt[at + 1] if at + 1 < len(prompt) else None, chosen) for _, at in places]
                rows = [row for row, want in enumerate(wanted) if want.index >= start]
                positions += _read_out(decoder, hidden[rows], [wanted[row] for row in rows], top_k)
        return Scored(tuple(prompt), tuple(positions), profile, self.fingerprint(profile), EXACTNESS)

    @torch.inference_mode()
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
        wanted = [Wanted(len(ids), None, ids_wanted) for ids, ids_wanted in zip(checked, chosen, strict=True)]
        with self._lock:
            decoder = self._decoder(profile)
            return _read_out(decoder, last_hidden(decoder, checked), wanted, top_k)

    def generate(
        self, ids: Sequence[int], params: SamplingParams, *, profile: str = "fp32"
    ) -> Iterator[GeneratedToken]:
        """Tokens one by one, each computed when it is asked for. A wrong request raises EngineRequestError at once."""
        prompt = checked_ids(ids, self._config.vocab_size, self._config.context_length - 1)
        check_sampling(params, self._config.vocab_size)
        with self._lock:
            decoder = self._decoder(profile)
        return self._generate(prompt, params, decoder)

    def _generate(self, prompt: list[int], params: SamplingParams, decoder: Decoder) -> Iterator[GeneratedToken]:
        seed = secrets.randbits(64) if params.seed is None else params.seed
        last_position = min(len(prompt) + params.max_tokens, self._config.context_length) - 1
        cache = KVCache(self._config, 1, last_position)
        answer = AnswerText(params.stop)
        logits = self._prompt_logits(decoder, cache, prompt)
        for position in range(len(prompt), last_position + 1):
            token_id, logprob, top = _pick(logits, params, seed, position)
            if token_id in self._tokenizer.facts.stops and not params.ignore_eos:
                yield GeneratedToken(token_id, answer.finish(), logprob, top, "stop")
                return
            text = answer.feed(self._tokenizer.shown_bytes(token_id))
            if position == last_position:
                text += answer.finish()
            if answer.stopped or position == last_position:
                yield GeneratedToken(token_id, text, logprob, top, "stop" if answer.stopped else "length")
                return
            yield GeneratedToken(token_id, text, logprob, top)
            logits = self._next_logits(decoder, cache, [token_id], position)

    @torch.inference_mode()
    def _prompt_logits(self, decoder: Decoder, cache: KVCache, prompt: list[int]) -> Tensor:
        """[1, vocabulary] after a whole prompt."""
        with self._lock:
            known = self._last.fill(cache, prompt, decoder.profile.name)
            logits = self._next_logits(decoder, cache, prompt[known:], known)
            self._last.remember(cache, prompt, decoder.profile.name)
        return logits

    @torch.inference_mode()
    def _next_logits(self, decoder: Decoder, cache: KVCache, ids: list[int], start: int) -> Tensor:
        """[1, vocabulary] after `ids`, which stand at position `start`."""
        with self._lock:
            for hidden, _ in extend(decoder, cache, [ids], start):
                last = hidden[-1:]
            return decoder.logits(last)

    def close(self) -> None:
        """Lets the weights go. Every later request for numbers raises EngineError."""
        with self._lock:
            self._store = None
            self._last = LastPrompt()

    def prepare(self, profile: str) -> None:
        """Builds the weights of `profile` now rather than with the first request."""
        with self._lock:
            self._decoder(profile)

    def _decoder(self, profile: str) -> Decoder:
        known = profile_named(profile)
        if self._store is None:
            raise EngineError("The engine is closed.", remedy="Load the model again.")
        return Decoder(self._config, self._store.weights(known), known)


def _unconditional(token_id: int) -> TokenDistribution:
    return TokenDistribution(0, token_id, None, None, (), {}, 1.0)


def _read_out(decoder: Decoder, hidden: Tensor, wanted: Sequence[Wanted], top_k: int) -> list[TokenDistribution]:
    """Distributions of the rows, a few at a time: a vocabulary's width for a whole prompt would not fit in memory."""
    return [
        distribution
        for at in range(0, len(wanted), _HEAD_ROWS)
        for distribution in distributions(
            decoder.logits(hidden[at : at + _HEAD_ROWS]), wanted[at : at + _HEAD_ROWS], top_k
        )
    ]


@torch.inference_mode()
def _pick(
    logits: Tensor, params: SamplingParams, seed: int, position: int
) -> tuple[int, float, tuple[tuple[int, float], ...]]:
    """The token for `position`, its raw log-probability, and the most likely ones with theirs."""
    logprobs = (logits.double() - log_normaliser(logits))[0].numpy()
    token_id = sample(logprobs, temperature=params.temperature, top_p=params.top_p, seed=seed, position=position)
    best: list[int] = top_tokens(logits, params.top_k_logprobs)[0].tolist()
    return token_id, float(logprobs[token_id]), tuple((id_, float(logprobs[id_])) for id_ in best)


def open_engine(path: Path, *, profile: str, kept_profiles: int, today: datetime) -> Engine:
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
    engine = Engine(source, tokenizer, kept_profiles=kept_profiles)
    engine.prepare(profile)
    return engine
