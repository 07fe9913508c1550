"""A reference that is another endpoint: its answers to the same prompts, the noise of both sides, and whether it moved.

Nobody can compute what its numerics would do to these weights, so what is lawful and what should be seen are figures of
a small model (DETECTION.md, Table D), and no cause can be ranked. An observation holds the reference's answer to the
same repeat of its prompt as the expectation of one candidate, `ENDPOINT`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from monitor.drift.accounting import count_test
from monitor.drift.cause import ENDPOINT
from monitor.drift.fidelity import deviations, distance
from monitor.drift.findings import Fidelity, Finding
from monitor.drift.observation import Observation
from monitor.drift.relabelling import RELABELLINGS
from monitor.drift.rule import LAWFUL_SHIFT, SUSPECT_P, Verdict, holm
from monitor.drift.shift import Single, prepare, run_noise, shift_test

# Nats. Two honest bf16 stacks that round at other places are √2 times as far apart as bf16 is from fp32 (0.045).
LAWFUL = 0.064
# What fp8 weights do: int8 (0.071) is no farther than honest stacks may be.
TARGET = 0.154
# Standard errors, by which a shift has to move the mean for single-use answers to be worth testing.
_TELLING = 3.0
# Who gives more names than these gives a new one to each answer, which says nothing.
_MOST_NAMES = 8


@dataclass(frozen=True, slots=True)
class Served:
    """What a reference called its model and its stack in one round."""

    models: frozenset[str] = frozenset()
    fingerprints: frozenset[str] = frozenset()

    @classmethod
    def of(cls, kept: Iterable[Mapping[str, Sequence[str]]]) -> Served:
        """Of several rounds together, as `to_json` kept them."""
        rounds = list(kept)
        return cls(*(frozenset(name for one in rounds for name in one.get(key, ())) for key in ("models", "stacks")))

    def to_json(self) -> dict[str, list[str]]:
        return {"models": sorted(self.models), "stacks": sorted(self.fingerprints)}


def beside(observations: Iterable[Observation], theirs: Iterable[Observation]) -> list[Observation]:
    """The endpoint's answers, each with the reference's to the same item and repeat as what was expected."""
    known = {(one.item_key, one.rep): one for one in theirs}
    return [_beside(one, known.get((one.item_key, one.rep))) for one in observations]


def own_answers(observations: Iterable[Observation]) -> list[Observation]:
    """The reference's side alone, as observations that may be held against its past."""
    return [
        replace(
            one,
            tokens=one.reference_tokens,
            logprobs=np.asarray(one.expected.get(ENDPOINT, ()), dtype=np.float64),
            sampled=None,
            reference_tokens=(),
            expected={},
            prompt_tokens=one.expected_prompt_tokens,
            expected_prompt_tokens=None,
            response_id=None,
        )
        for one in observations
        if ENDPOINT in one.expected or one.expected_prompt_tokens is not None
    ]


def without_reference(observation: Observation) -> Observation:
    """The endpoint's side alone."""
    return replace(observation, reference_tokens=(), expected={}, expected_prompt_tokens=None)


def would_see(singles: Sequence[Single], shift: float) -> bool:
    """Whether the pooled mean |Δ| of single-use answers to the reference would move by three of its standard errors for
    a shift of so many nats. It does not depend on which answers are new, so a test that looks first stays exact."""
    if not singles:
        return True
    scores = np.array([single.scores()[0] for single in singles])
    new = sum(single.new for single in singles)
    error = float(scores.std(ddof=1)) * np.sqrt(1.0 / new + 1.0 / (len(singles) - new))
    return bool(np.hypot(scores.mean(), shift) - scores.mean() >= _TELLING * error)


def moved(
    past: Sequence[Observation], now: Sequence[Observation], *, seed: int = 0, count: int = RELABELLINGS
) -> str | None:
    """Whether the reference's anchors are those of its past; in words how it moved, None where it did not.

    The null is that of the endpoint's own test: answers to one prompt are exchangeable between runs. It is said at
    p ≤ 0.01 over both tests (Holm) and beyond the lawful shift: to be wrong costs a comparison, and is no alarm.
    """
    tested: dict[str, float] = {}
    words: dict[str, str] = {}
    prepared = prepare(past, now, None, ())
    if prepared is not None:
        shift = shift_test(prepared, len(now), seed=seed, count=count)
        tested["logprobs"] = shift.p
        if not shift.shift < LAWFUL_SHIFT:
            words["logprobs"] = f"its log-probabilities moved {shift.shift:.3f} nat"
    counts = count_test(past, now, seed=seed, count=count)
    if counts is not None and counts.p is not None:
        tested["counts"] = counts.p
        words["counts"] = f"it counts {counts.moved or 0:+d} tokens a prompt"
    adjusted = holm(tested)
    return " and ".join(said for name, said in words.items() if adjusted[name] <= SUSPECT_P) or None


def renamed(past: Served, now: Served) -> str | None:
    """In words what the reference calls itself that it never did in its past; None where it says nothing new."""
    for what, before, names in (
        ("model", past.models, now.models),
        ("system_fingerprint", past.fingerprints, now.fingerprints),
    ):
        new = sorted(names - before)
        if before and new and max(len(before), len(names)) <= _MOST_NAMES:
            return f"it names {what} {new[0]}, and {', '.join(sorted(before))} before"
    return None


def endpoint_fidelity(observations: Sequence[Observation], name: str, held: str | None, *, seed: int = 0) -> Fidelity:
    """The mean distance between the answers of both sides, with the noise of both taken out in squares, beside what two
    honest stacks may differ by. `name`: of the reference. A suspicion is `held` where the reference moved."""
    against = f"compared with {name}, an endpoint: no cause is ranked"
    values = deviations(observations, ENDPOINT)
    if not values.size:
        return Fidelity(_nothing_to_compare(observations, name))
    noise = float(np.hypot(run_noise(observations), run_noise(own_answers(observations))))
    if not np.isfinite(noise):
        why = f"{against}; its noise is not known, as no prompt was answered twice"
        return Fidelity(Finding(Verdict.INCONCLUSIVE, why, n=int(values.size)))
    found = distance(values, ENDPOINT, LAWFUL, noise, seed)
    verdict = Verdict.OK if found.detectable <= TARGET else Verdict.INCONCLUSIVE
    said = [against]
    if found.outside:
        verdict = Verdict.SUSPECT if held is None else Verdict.INCONCLUSIVE
    elif verdict is Verdict.INCONCLUSIVE:
        said.append("too few answers to see what fp8 would do")
    if held is not None:
        said.append(held)
    finding = Finding(
        verdict,
        reason="; ".join(said),
        value=found.value,
        interval=found.interval,
        baseline=noise,
        detectable=found.detectable,
        target=TARGET,
        n=int(values.size),
    )
    return Fidelity(finding, lawful=LAWFUL)


def _nothing_to_compare(observations: Sequence[Observation], name: str) -> Finding:
    if not any(one.tokens for one in observations):
        return Finding(Verdict.INAPPLICABLE, "the endpoint gives no usable log-probabilities")
    if not own_answers(observations):
        return Finding(Verdict.INCONCLUSIVE, f"{name}, the reference, gave no answer")
    return Finding(Verdict.INAPPLICABLE, f"{name}, the reference, gives no usable log-probabilities")


def _beside(one: Observation, other: Observation | None) -> Observation:
    if other is None:
        return one
    order = np.argsort(-other.logprobs, kind="stable")
    return replace(
        one,
        reference_tokens=tuple(other.tokens[place] for place in order),
        expected={ENDPOINT: other.logprobs[order]} if other.tokens else {},
        expected_prompt_tokens=other.prompt_tokens,
    )
