"""Endpoints made of numbers: a reference with known profiles, and answers of any of them under lawful noise."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from monitor.drift.material import Material, Reference
from monitor.drift.observation import FloatArray, Observation

# Mean |Δ| of each candidate from bf16, in nats (DETECTION.md, Table D).
SIZES = {
    "fp32": 0.045,
    "bf16": 0.0,
    "w8-channel": 0.071,
    "w8-tensor": 0.296,
    "fp8-e4m3": 0.154,
    "nf4": 0.46,
    "w4-g64": 0.607,
    "system-prompt:none": 0.36,
}
UNLISTED_TEXT = "another system prompt"
REFERENCE = Reference(("bf16",), tuple(SIZES), {"system-prompt:none": -20})
_VOCABULARY = 40
_LISTED = 20


@dataclass
class World:
    """Draws prompts and answers; the same seed gives the same ones."""

    seed: int
    noise: float = 0.03
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    def run(
        self, stack: str, *, anchors: int = 10, singles: int = 20, extra_tokens: int = 0, listed: int = _LISTED
    ) -> list[Observation]:
        """One run of a stack: every anchor twice, and single-use prompts that no other run has."""
        answers = [
            self.answer(f"anchor-{i}", rep, expected_of(i), stack, extra_tokens, listed)
            for rep in range(2)
            for i in range(anchors)
        ]
        for _ in range(singles):
            number = int(self.rng.integers(1 << 40))
            answers.append(self.answer(f"single-{number}", 0, expected_of(number), stack, extra_tokens, listed))
        return answers

    def answer(
        self, key: str, rep: int, expected: dict[str, FloatArray], stack: str, extra_tokens: int, listed: int
    ) -> Observation:
        part = self.noise / np.sqrt(2.0)
        values = expected[stack] + self.rng.normal(0.0, part) + self.rng.normal(0.0, part, _VOCABULARY)
        order = np.argsort(-values)[:listed]
        top = np.argsort(-expected["bf16"])[:_LISTED]
        return Observation(
            item_key=key,
            rep=rep,
            anchor=key.startswith("anchor"),
            tokens=tuple(b"%d" % i for i in order),
            logprobs=values[order],
            sampled=None,
            reference_tokens=tuple(b"%d" % i for i in top),
            expected={name: expected[name][top] for name in SIZES},
            prompt_tokens=50 + extra_tokens,
            expected_prompt_tokens=50,
            response_id=f"id-{self.rng.integers(1 << 60)}",
        )


def expected_of(number: int) -> dict[str, FloatArray]:
    """Log-probabilities of a prompt's first token under every candidate, shape [vocabulary]."""
    rng = np.random.default_rng(number)
    base = np.sort(rng.normal(-5.0, 1.5, _VOCABULARY))[::-1]
    base = base - np.log(np.exp(base).sum() + 0.1)
    normal = float(np.sqrt(np.pi / 2.0))
    stacks = {name: base + rng.normal(0.0, 1.0, _VOCABULARY) * size * normal for name, size in SIZES.items()}
    return stacks | {UNLISTED_TEXT: base + rng.normal(0.0, 1.0, _VOCABULARY) * 0.36 * normal}


def material(new: list[Observation], baseline: list[Observation]) -> Material:
    return Material(new, baseline, baseline, REFERENCE)
