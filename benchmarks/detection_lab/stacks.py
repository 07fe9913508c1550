"""A changed stack as an engine in this process, or behind a real HTTP server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from benchmarks.detection_lab.changes import Change, Sampler
from benchmarks.detection_lab.proxy import Share, in_front
from reference_engine import Address, EngineOptions, TokenizerBackend
from reference_engine.bundle import bundled_path
from reference_engine.chat import PINNED_DATE
from reference_engine.engine import Engine
from reference_engine.server.here import served_here
from reference_engine.server.settings import ServerSettings
from reference_engine.tokenizer import ModelTokenizer
from reference_engine.vocabulary import tokenizer_from_gguf
from reference_engine.weights.gguf import open_gguf
from reference_engine.weights.gguf_source import GGUFSource
from reference_engine.weights.source import WeightSource


@contextmanager
def opened(change: Change, *, threads: int | None = None) -> Iterator[Engine]:
    """The engine over the changed model, with the change's profile ready."""
    file = open_gguf(bundled_path())
    source: WeightSource = GGUFSource(file)
    if change.weights is not None:
        source = change.weights(source)
    engine = Engine(source, tokenizer_of(change), EngineOptions(threads=threads))
    try:
        engine.prepare(change.profile)
        yield engine
    finally:
        engine.close()


def tokenizer_of(change: Change) -> ModelTokenizer:
    """How the changed stack reads and counts a prompt."""
    file = open_gguf(bundled_path())
    return tokenizer_from_gguf(file if change.vocabulary is None else change.vocabulary(file), PINNED_DATE)


@contextmanager
def serving(engine: Engine, change: Change) -> Iterator[Address]:
    """An OpenAI-compatible endpoint that is this stack, from the engine that `opened` gave for it."""
    settings = ServerSettings(profile=change.profile, system_prompt=change.system_prompt, drain_s=0.0)
    with served_here(engine, settings) as address:
        if change.sampler == Sampler():
            yield address
        else:
            with in_front([Share(address)], sampler=change.sampler) as sampled:
                yield sampled


def rendered(engine: TokenizerBackend, change: Change, contents: Sequence[str]) -> list[Sequence[int]]:
    """Each content as the one user message of a conversation with this stack, in tokens."""
    opening = [] if change.system_prompt is None else [{"role": "system", "content": change.system_prompt}]
    return [engine.render([*opening, {"role": "user", "content": content}]).ids for content in contents]
