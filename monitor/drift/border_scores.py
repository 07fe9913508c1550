"""T2: border inputs as they were enrolled, and a round of first tokens as evidence (DETECTION.md §2.3)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from monitor.drift.border import ASKS, FEWEST, most_balanced
from monitor.drift.evidence import Evidence, Inapplicable, NotYet, Scores, StreamKey

# Of every token seen, and of all others together: Jeffreys' prior of a multinomial.
_PRIOR = 0.5
_VERSION = 1


@dataclass(frozen=True, slots=True)
class BorderInput:
    """How often each first token came at enrolment, the most frequent one first."""

    prompt: str
    tokens: tuple[bytes, ...]
    counts: tuple[int, ...]

    def score(self, token: bytes) -> float:
        """1 − p₀(token) / max p₀, in [0, 1), with p₀ smoothed: (count + ½) / (answers + (tokens + 1) / 2)."""
        count = self.counts[self.tokens.index(token)] if token in self.tokens else 0
        return 1.0 - (count + _PRIOR) / (self.counts[0] + _PRIOR)


@dataclass(frozen=True, slots=True)
class BorderInputs:
    inputs: tuple[BorderInput, ...]

    @property
    def probe_set(self) -> str:
        """What is asked, and what it is scored against: with others it is another stream."""
        return f"border-{hashlib.sha256(self.to_json().encode()).hexdigest()[:8]}"

    def to_json(self) -> str:
        inputs = [{"prompt": one.prompt, "tokens": _texts(one.tokens), "counts": one.counts} for one in self.inputs]
        return json.dumps({"version": _VERSION, "inputs": inputs}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Raises ValueError for anything `to_json` did not write."""
        try:
            read: dict[str, Any] = json.loads(text)
            if read["version"] != _VERSION:
                raise ValueError(f"version {read['version']}")
            return cls(tuple(_input(**one) for one in read["inputs"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"these are no border inputs that can be read ({error}): enrol them anew") from error


def _texts(tokens: Sequence[bytes]) -> list[str]:
    return [token.hex() for token in tokens]


def _input(prompt: str, tokens: list[str], counts: list[int]) -> BorderInput:
    if not counts or len(tokens) != len(counts):
        raise ValueError(f"{len(tokens)} tokens have {len(counts)} counts")
    return BorderInput(prompt, tuple(map(bytes.fromhex, tokens)), tuple(counts))


def enrol_border(counts: Mapping[str, Mapping[bytes, int]]) -> BorderInputs | NotYet | Inapplicable:
    """Keeps the 20 most balanced of prompts that were asked a hundred times at temperature 0: prompt → first token →
    how often it came. `Inapplicable` where fewer than 10 vary."""
    prompts = sorted(counts)
    asked = {prompt: sum(counts[prompt].values()) for prompt in prompts}
    if not prompts or min(asked.values()) < ASKS:
        fewest = min(prompts, key=lambda prompt: (asked[prompt], prompt), default=None)
        what = "no candidates" if fewest is None else f"{asked[fewest]} answers to {fewest}"
        return NotYet(f"too few yet: {what}, and {ASKS} to each are needed")
    ordered = [sorted(counts[prompt].items(), key=lambda one: (-one[1], one[0])) for prompt in prompts]
    two = np.array([[*(count for _, count in tokens[:2]), 0][:2] for tokens in ordered], dtype=np.int64)
    kept = most_balanced(two).tolist()
    if len(kept) < FEWEST:
        return Inapplicable(f"border inputs: {len(kept)} of {len(prompts)} candidates vary, and {FEWEST} are needed")
    return BorderInputs(tuple(_border_input(prompts[place], ordered[place]) for place in kept))


def _border_input(prompt: str, ordered: Sequence[tuple[bytes, int]]) -> BorderInput:
    came = [(token, count) for token, count in ordered if count]
    return BorderInput(prompt, tuple(token for token, _ in came), tuple(count for _, count in came))


class First(NamedTuple):
    """The first token of an answer at temperature 0; None where it had none."""

    prompt: str
    token: bytes | None


def border_evidence(
    enrolled: BorderInputs, stream: StreamKey, at: float, firsts: Sequence[First], *, tokens: int = 0
) -> Evidence:
    """One score a query; `at` in seconds since 1970, of a round that cost `tokens`. Raises ValueError for a round
    without answers, and for a prompt that was not enrolled."""
    if not firsts:
        raise ValueError("a round without any answer says nothing: give evidence of rounds that were answered")
    inputs = {one.prompt: one for one in enrolled.inputs}
    if unknown := sorted({one.prompt for one in firsts} - inputs.keys()):
        raise ValueError(f"{unknown[0]} was not enrolled: its stream needs an enrolment of its own")
    scores = tuple(inputs[one.prompt].score(one.token) for one in firsts if one.token is not None)
    missing = len(firsts) - len(scores)
    if not scores:
        return Evidence(
            stream, at, Inapplicable(f"border inputs: none of {missing} answers had a first token"), 0, tokens
        )
    reasons = (f"{missing} of {len(firsts)} answers had no first token",) if missing else ()
    return Evidence(stream, at, Scores(scores), len(scores), tokens, reasons)
