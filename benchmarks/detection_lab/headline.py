"""The headline: what each change takes to be detected, by our streams and by each rival, at one rate of false alarms.

All ask alike: eight one-token queries an hour where log-probabilities come, ten where they do not, and look every hour
for 30 days. Ours is at E ≥ 1,000 of the endpoint, every query a round, the other streams standing at 1. Rivals have a
threshold that one in a hundred unchanged epochs exceeds, tuned on half of these; the shares that alarmed of the other
half, and of ours, are printed. LT asks its one prompt; the z-rule is over our mean |Δ|; B3IT has the five most balanced
inputs. The bound is (log 1,000 + log H) / KL for the queries H of an epoch (DETECTION.md §8), a query at least.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection_lab.border_hours import ASKED, WatchedBorder, asked
from benchmarks.detection_lab.changes import CHANGES, UNCHANGED
from benchmarks.detection_lab.first_tokens import FirstTokens
from benchmarks.detection_lab.goals import g1, g3, g5
from benchmarks.detection_lab.goals.figure import Lab
from benchmarks.detection_lab.hourly import (
    BASELINE_DAYS,
    BEFORE,
    EPOCH_DAYS,
    HOURS,
    LISTED,
    PROMPTS,
    Proof,
    Rounds,
    answers,
)
from benchmarks.detection_lab.lawful import Lawful
from benchmarks.detection_lab.rivals import b3it, lt, token_difr, z_rule
from benchmarks.detection_lab.rivals.looks import NEVER, delays, threshold
from benchmarks.detection_lab.texts import Asked
from benchmarks.detection_lab.union import Union
from benchmarks.simulated.delays import WITH, WITHOUT, needed
from monitor.drift.evidence import Tier
from monitor.drift.offers import STREAMS
from monitor.drift.whitened import Whitening

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# One epoch of a stack's rounds that becomes another one's: [looks]; None is the unchanged stack throughout.
Path = Callable[[Floats | None, int, np.random.Generator], Floats]

ALPHA, PROOF = 0.01, 1e-3
LISTS = ("w8-channel", "fp8-e4m3", "nf4", "w4-g64", "template", "system-prompt", "anew", "without-4-layers")
SHARES = (1.0, 0.5, 0.3)
DAYS = 10
ENDPOINTS, QUICK_ENDPOINTS = 40, 8
NULLS, QUICK_NULLS = 2_000, 400
B3IT_INPUTS, B3IT_WINDOW = 5, 5
NOISES = (0.03, 0.06)


def lines(lab: Lab) -> Iterator[str]:
    """Of Markdown."""
    for noise in NOISES:
        yield from of_lists(lab, noise)
        yield ""
    yield from of_first_tokens(lab)
    yield ""
    yield from of_greedy(lab)


def size(lab: Lab, full: int, quick: int) -> int:
    return quick if lab.quick else full


def hours_of(rounds: float, of_an_hour: int) -> float:
    """When a proof is seen, by looks every hour."""
    return float(np.ceil(rounds / of_an_hour)) if np.isfinite(rounds) else np.inf


def of_lists(lab: Lab, noise: float) -> Iterator[str]:
    lawful, endpoints, nulls = g1.with_days(noise), size(lab, ENDPOINTS, QUICK_ENDPOINTS), size(lab, NULLS, QUICK_NULLS)
    rng = np.random.default_rng((lab.seed, 40, round(noise * 1e3)))
    ours = g1.delays(lab, LISTS, lawful, endpoints, g1.SINGLE)
    sets, alone = g1.unions(lab, LISTS), g1.unions(lab, ())
    highest = g1.null_values(alone, lawful, nulls, rng, g1.SINGLE)
    paths: Mapping[str, Callable[[Union, np.random.Generator], Path]] = {
        "LT": lambda union, _: lt_path(union, lawful),
        "z-rule": lambda union, rng: z_path(union, lawful, rng),
    }
    found = {
        name: Rival.of(sets, make, endpoints, list(_null_paths(alone, make, nulls, rng)), rng)
        for name, make in paths.items()
    }
    alarms = float((highest >= needed(Tier.LOGPROBS, WITH, len(STREAMS[Tier.LOGPROBS]))).mean())
    names = " | ".join(f"{name}: queries" for name in ("ours", *found))
    yield f"| log-probabilities, noise {noise:g} nat | {names} | bound |"
    yield "| --- | --- |" + " --- |" * (len(found) + 1)
    rates = " | ".join(f"{one.alarms:.2%}" for one in found.values())
    yield f"| unchanged, {nulls} epochs: share with an alarm | {alarms:.2%} | {rates} | – |"
    for place, name in enumerate(LISTS):
        least = bound(*(lab.first.get(CHANGES[one], PROMPTS) for one in (UNCHANGED.name, name)), noise)
        cells = [_queries(_median_hours(ours[name], PROMPTS), PROMPTS)]
        cells += [_queries(one.delays[place], PROMPTS) for one in found.values()]
        yield f"| {name} | {' | '.join(cells)} | {least:.1f} |"


def _median_hours(proofs: Sequence[Proof], of_an_hour: int) -> float:
    return float(np.median([hours_of(one.rounds, of_an_hour) for one in proofs]))


def _queries(hours: float, of_an_hour: int) -> str:
    return f"{hours * of_an_hour:.0f}" if np.isfinite(hours) else "never"


class Rival:
    """Of a rival: the share of held-out unchanged epochs that alarmed, and for each of the sets' changed stacks the
    median hours from the change to the first alarm."""

    def __init__(self, alarms: float, delays_: list[float]) -> None:
        self.alarms, self.delays = alarms, delays_

    @classmethod
    def of(
        cls,
        sets: Sequence[Union],
        make: Callable[[Union, np.random.Generator], Path],
        endpoints: int,
        unchanged: Sequence[Floats],
        rng: np.random.Generator,
    ) -> Rival:
        tuned, held_out = np.stack(unchanged[::2]), np.stack(unchanged[1::2])
        limit = threshold(tuned, ALPHA)
        hours: list[list[float]] = [[] for _ in sets[0].logprobs[1:]]
        for endpoint in range(endpoints):
            union = sets[endpoint % len(sets)]
            path = make(union, rng)
            for place, logprobs in enumerate(union.logprobs[1:]):
                looks = path(logprobs, DAYS, rng)
                hours[place].append(hours_after(looks, limit))
        return cls(float((held_out > limit).any(axis=1).mean()), [float(np.median(each)) for each in hours])


def _null_paths(
    sets: Sequence[Union], make: Callable[[Union, np.random.Generator], Path], nulls: int, rng: np.random.Generator
) -> Iterator[Floats]:
    for number in range(nulls):
        if number % g1.OF_ONE_BASELINE == 0:
            path = make(sets[number // g1.OF_ONE_BASELINE % len(sets)], rng)
        yield path(None, EPOCH_DAYS, rng)


def hours_after(looks: Floats, limit: float) -> float:
    """Hours from the change to the first look beyond the limit; ∞ without one, or with one before."""
    (found,) = delays(looks[None], limit)
    return float("inf") if found == NEVER or found <= BEFORE else float(found - BEFORE)


def _hourly(unchanged: Floats, changed: Floats | None, days: int, lawful: Lawful, rng: np.random.Generator) -> Floats:
    """What is listed, [hours, prompts, tokens]: `days` of the unchanged stack, or the change after `BEFORE` hours."""
    if changed is None:
        return answers(unchanged, days, lawful, rng)
    still = answers(unchanged, BEFORE // HOURS + 1, lawful, rng)[:BEFORE]
    return np.concatenate([still, answers(changed, days, lawful, rng)])


def lt_path(union: Union, lawful: Lawful) -> Path:
    """LT's windows of 24 before and after, over its one prompt, the set's first; as many looks as hours, 0 while no
    two windows are there."""

    def repeated(logprobs: Floats) -> Floats:
        return np.repeat(logprobs[:1], PROMPTS, axis=0)

    def path(changed: Floats | None, days: int, rng: np.random.Generator) -> Floats:
        found = _hourly(repeated(union.logprobs[0]), None if changed is None else repeated(changed), days, lawful, rng)
        responses = found.reshape(-1, found.shape[-1])
        responses = responses[:, ~np.isnan(responses).all(axis=0)]
        series = lt.series(responses)[::PROMPTS]
        waits = 2 * lt.WINDOW // PROMPTS - 1
        return np.concatenate([np.zeros(waits), series])[: len(found)]

    return path


def z_path(union: Union, lawful: Lawful, rng: np.random.Generator) -> Path:
    """How many standard deviations of its baseline's hours an hour's mean |Δ| is above their mean."""
    watched = g1.enrolled(union, lawful, rng, g1.MEANS)
    baseline = watched.scores(union.logprobs[0], BASELINE_DAYS, rng)

    def path(changed: Floats | None, days: int, rng: np.random.Generator) -> Floats:
        if changed is None:
            return z_rule.z(watched.scores(union.logprobs[0], days, rng), baseline)
        return z_rule.z(watched.changing(union.logprobs[0], changed, days, rng), baseline)

    return path


def bound(unchanged: FirstTokens, changed: FirstTokens, noise: float) -> float:
    """Queries that evidence of 1,000 needs on average where the shift is known, and no fewer than one: over the 20
    tokens that the unchanged stack lists."""
    part = noise**2 / 2.0
    shifts = changed.at_unchanged[:, :LISTED] - unchanged.logprobs[:, :LISTED]
    divergence = float(Whitening(np.full(LISTED, part), part).squared(shifts).mean()) / 2.0
    horizon = EPOCH_DAYS * HOURS * PROMPTS
    return max(1.0, float(np.log(1.0 / PROOF) + np.log(horizon)) / divergence)


def of_first_tokens(lab: Lab) -> Iterator[str]:
    endpoints, nulls = size(lab, ENDPOINTS, QUICK_ENDPOINTS), size(lab, NULLS, QUICK_NULLS)
    rng = np.random.default_rng((lab.seed, 41))
    union = Union.of([lab.first.get(CHANGES[one], g3.PROMPTS) for one in (UNCHANGED.name, g3.SWAP)])
    highest = g3.null_values(union, nulls, rng, g3.SINGLE)
    unchanged = np.stack(list(b3it_nulls(union, nulls, rng)))
    limit = threshold(unchanged[::2], ALPHA)
    alarms = float((highest >= needed(Tier.BORDER, WITHOUT)).mean())
    theirs = float((unchanged[1::2] > limit).any(axis=1).mean())
    yield "| first tokens | ours: queries | B3IT: queries |"
    yield "| --- | --- | --- |"
    yield f"| unchanged, {nulls} epochs: share with an alarm | {alarms:.2%} | {theirs:.2%} |"
    for part in SHARES:
        ours = _median_hours(g3.of_share(lab, g3.SWAP, part, g3.SINGLE), ASKED)
        found = [hours_after(b3it_path(*border_endpoint(union, rng), part, DAYS, rng), limit) for _ in range(endpoints)]
        yield (
            f"| {part:.0%} to another model | {_queries(ours, ASKED)} | {_queries(float(np.median(found)), ASKED)} |"
        )


def border_endpoint(union: Union, rng: np.random.Generator) -> tuple[Union, WatchedBorder, Ints]:
    """An endpoint's inputs, the most balanced first, and how often each token of five came in its days of baseline."""
    some = g3.some_prompts(union, rng)
    watched = g3.begun(some, rng, Rounds(ASKED, ASKED))
    inputs = watched.inputs[:B3IT_INPUTS]
    places, tokens = asked(some.logprobs[:1, inputs], 0.0, BASELINE_DAYS, g3.NOISE, rng)
    return some, watched, _counts(places, tokens, some.ids.shape[1]).sum(axis=0)


def _counts(inputs: Ints, tokens: Ints, width: int) -> Ints:
    """[rounds, inputs, tokens]."""
    counts = np.zeros((len(inputs), B3IT_INPUTS, width), dtype=np.int64)
    np.add.at(counts, (np.arange(len(inputs))[:, None], inputs, tokens), 1)
    return counts


def b3it_path(
    union: Union, watched: WatchedBorder, reference: Ints, part: float, days: int, rng: np.random.Generator
) -> Floats:
    """Mean total variation of the last ten answers to each of five inputs, two an hour; one look an hour. After
    `BEFORE` hours a part of the queries goes to the union's last stack."""
    stacks = union.logprobs[:, watched.inputs[:B3IT_INPUTS]]
    halves = [b3it_rounds(stacks, 0.0, days if not part else BEFORE // HOURS + 1, rng)]
    if part:
        halves = [halves[0][:BEFORE], b3it_rounds(stacks, part, days, rng)]
    counts = np.concatenate(halves)
    summed = np.cumsum(counts, axis=0)
    batches = summed[B3IT_WINDOW:] - summed[:-B3IT_WINDOW]
    found = b3it.total_variation(reference, batches).mean(axis=-1)
    return np.concatenate([np.zeros(len(counts) - len(found)), found])


def b3it_rounds(stacks: Floats, part: float, days: int, rng: np.random.Generator) -> Ints:
    """Ten queries an hour: all five inputs twice."""
    inputs, tokens = asked(np.concatenate([stacks, stacks], axis=1), part, days, g3.NOISE, rng)
    return _counts(inputs % B3IT_INPUTS, tokens, stacks.shape[-1])


def b3it_nulls(union: Union, nulls: int, rng: np.random.Generator) -> Iterator[Floats]:
    for number in range(nulls):
        if number % g3.OF_ONE_BASELINE == 0:
            endpoint = border_endpoint(union, rng)
        yield b3it_path(*endpoint, 0.0, EPOCH_DAYS, rng)


def of_greedy(lab: Lab) -> Iterator[str]:
    """By G5's tests, to 13.5 nats."""
    texts = Asked(prompts=size(lab, g5.PROMPTS, g5.QUICK_PROMPTS), tokens=60, temperature=0.0)
    unchanged = lab.texts.get(UNCHANGED, texts)
    lawful = float(g5.turned_over(unchanged.gaps[g5.there(unchanged)]).mean())
    walks = size(lab, g5.WALKS, g5.QUICK_WALKS)
    yield "| greedy answers | ours: tokens | Token-DiFR: tokens |"
    yield "| --- | --- | --- |"
    for name in g5.BARS:
        found = lab.texts.get(CHANGES[name], texts)
        theirs = token_difr.tokens_needed(token_difr.mismatch_rate(found.margins), lawful, g5.NATS)
        yield f"| {name} | {g5.tokens_to_detection(found, walks, lab.seed):.0f} | {theirs:.0f} |"
