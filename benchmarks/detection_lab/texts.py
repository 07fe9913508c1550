"""Longer answers of each change, drawn or greedy, and what the unchanged stack makes of their tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection_lab.changes import UNCHANGED, Change
from benchmarks.detection_lab.prompts import openings
from benchmarks.detection_lab.stacks import opened, rendered
from reference_engine import SamplingParams
from reference_engine.engine import Engine

NO_TOKEN = -1
_AT_ONCE = 40

Floats = NDArray[np.float64]
Ids = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """Answers [prompts, answers, tokens]: token ids, `NO_TOKEN` after an answer's end; and, teacher-forced under the
    unchanged stack, each token's log-probability, its rank (0 is the most likely), how far it is below the most likely
    token, and how far the second most likely one is; nan and -1 after the end."""

    ids: Ids
    logprobs: Floats
    ranks: Ids
    margins: Floats
    gaps: Floats

    def joined(self, more: Texts) -> Texts:
        theirs = more.by_name()
        return Texts(**{name: np.concatenate([ours, theirs[name]], axis=1) for name, ours in self.by_name().items()})

    def each(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Texts:
        return Texts(**{name: change(array) for name, array in self.by_name().items()})

    def first(self, answers: int) -> Texts:
        return self.each(lambda array: array[:, :answers])

    def by_name(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass(frozen=True, slots=True)
class Asked:
    """`answers` to each of the first `prompts` openings, of `tokens` tokens at most; temperature 0 is greedy."""

    prompts: int = 10
    answers: int = 1
    tokens: int = 30
    temperature: float = 1.0

    @property
    def label(self) -> str:
        """Of all but how many answers."""
        return f"{self.prompts}x{self.tokens}-t{self.temperature:g}"


@dataclass(frozen=True, slots=True)
class TextStore:
    """As FirstTokenStore, for texts; `pool` sets draws apart that must be independent of others."""

    folder: Path
    threads: int | None = None

    def get(self, change: Change, asked: Asked, pool: int = 0) -> Texts:
        path = self.folder / f"texts-{change.name}-{asked.label}-{pool}.npz"
        held = _read(path)
        have = 0 if held is None else held.ids.shape[1]
        if held is None or have < asked.answers:
            found = texts(change, asked, range(have, asked.answers), pool, threads=self.threads)
            held = found if held is None else held.joined(found)
            self.folder.mkdir(parents=True, exist_ok=True)
            np.savez(path, **held.by_name())
        return held.first(asked.answers)


def _read(path: Path) -> Texts | None:
    if not path.exists():
        return None
    with np.load(path) as held:
        return Texts(**{each.name: held[each.name] for each in fields(Texts)})


def texts(change: Change, asked: Asked, which: range, pool: int, *, threads: int | None = None) -> Texts:
    with opened(change, threads=threads) as engine:
        prompts = rendered(engine, change, openings(asked.prompts))
        ids = answers(engine, change, prompts, asked, which, pool)
        if change.weights is None and change.vocabulary is None:
            # The same file under another profile: the engine holds the unchanged stack too.
            return judged(engine, rendered(engine, UNCHANGED, openings(asked.prompts)), ids)
    with opened(UNCHANGED, threads=threads) as reference:
        return judged(reference, rendered(reference, UNCHANGED, openings(asked.prompts)), ids)


def answers(
    engine: Engine, change: Change, prompts: Sequence[Sequence[int]], asked: Asked, which: range, pool: int
) -> Ids:
    """Token ids [prompts, answers, tokens] of a stack. The sampler of a change turns temperature 1 into its own."""
    temperature = asked.temperature * change.sampler.temperature

    def answer(prompt: int, number: int) -> list[int]:
        params = SamplingParams(
            max_tokens=asked.tokens,
            temperature=temperature,
            top_p=change.sampler.top_p,
            seed=int(np.random.SeedSequence((pool, prompt, number)).generate_state(1)[0]),
        )
        made = engine.generate(prompts[prompt], params, profile=change.profile)
        return [token.token_id for token in made]

    places = [(prompt, number) for prompt in range(len(prompts)) for number in which]
    ids = np.full((len(prompts), len(which), asked.tokens), NO_TOKEN, dtype=np.int32)
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        for (prompt, number), made in zip(places, threads.map(lambda at: answer(*at), places), strict=True):
            ids[prompt, number - which.start, : len(made)] = made
    return ids


def judged(engine: Engine, prompts: Sequence[Sequence[int]], ids: Ids) -> Texts:
    """What `engine` under fp32 says of answers after its own prompts."""
    logprobs, margins, gaps = (np.full(ids.shape, np.nan) for _ in range(3))
    ranks = np.full(ids.shape, NO_TOKEN, dtype=np.int32)

    def judge(at: tuple[int, ...]) -> None:
        prompt, answer = prompts[at[0]], ids[at][ids[at] != NO_TOKEN].tolist()
        positions = engine.score([*prompt, *answer], start=len(prompt), top_k=2).positions[:-1]
        for place, position in enumerate(positions):
            assert position.logprob is not None
            assert position.rank is not None
            (_, first), (_, second) = position.top
            logprobs[*at, place], ranks[*at, place] = position.logprob, position.rank
            margins[*at, place], gaps[*at, place] = first - position.logprob, first - second

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(judge, np.ndindex(ids.shape[:2])))
    return Texts(ids, logprobs, ranks, margins, gaps)
