"""Goal G11 by simulation: what is each injected cause taken for? No endpoint is asked here: measurements are drawn.

Sizes are those of DETECTION.md tables D and E, where they have them, with the noise that is stated beside each; the
other chances are assumptions, of the same mind as the table that is tested. So this shows what the ranking makes of its
own table at that noise, also where tiers are missing, and not yet that real causes look like this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.simulated.figure import Figure
from monitor.drift.attribution import Attribution, attribute, suspects
from monitor.drift.discriminating import Kind
from monitor.drift.features import Feature
from monitor.drift.observation import FloatArray
from monitor.drift.ruler import size_odds
from monitor.drift.sightings import Sighting

# Mean |Δ| of first tokens in nats, and KL in nats a token (table D).
DISTANCES = {"w8-channel": 0.071, "fp8-e4m3": 0.154, "nf4": 0.46, "w4-g64": 0.607}
_KL = {"w8-channel": 0.0045, "fp8-e4m3": 0.023, "nf4": 0.318, "w4-g64": 0.708, "template:listed": 0.194}
_ERROR = 0.012  # nats: of a shift measured over a day, days that differ included
_GREEDY, _REPLAYS, _CALLS, _DRAWS, _SAMPLED = 600, 20, 100, 1_500, 1_000
_MISMATCHED = 0.5  # percent of greedy tokens, while nothing is wrong
_SUSPECTS = suspects(profiles=tuple(DISTANCES), templates=("template:listed",))


@dataclass(frozen=True)
class Injected:
    """What a cause does. counts, timing: chances of states. shift: median nats, and the deviation of its log; mismatch:
    percent of greedy tokens; malformed: percent of tool calls; triggers: chance that they move, by a sixth; topics: the
    chance that longer answers are distributed otherwise. name: the suspect that is right, the kind where any is."""

    kind: Kind
    name: str | None = None
    counts: Mapping[str, float] | None = None
    shift: float = 0.0
    spread: float = 0.1
    mismatch: float = 0.0
    malformed: float = 1.5
    triggers: float = 0.02
    topics: float = 0.02
    surface: float = 0.03
    step: float = 0.05
    other_pieces: float = 0.0


INJECTED: Mapping[str, Injected] = {
    "template": Injected(
        Kind.TEMPLATE,
        counts={"same": 0.3, "more": 0.45, "fewer": 0.25},
        shift=0.36,
        spread=0.25,
        mismatch=15.0,
        malformed=3.0,
        triggers=0.7,
        topics=0.7,
    ),
    "int8": Injected(Kind.WEIGHTS, "w8-channel", shift=0.071, mismatch=1.7, surface=0.15, step=0.5),
    "int4": Injected(
        Kind.WEIGHTS,
        "w4-g64",
        shift=0.607,
        mismatch=13.0,
        malformed=3.0,
        triggers=0.3,
        topics=0.5,
        surface=0.15,
        step=0.5,
    ),
    "swap": Injected(
        Kind.SWAP,
        counts={"same": 0.4, "varying": 0.6},
        shift=2.0,
        spread=0.4,
        mismatch=50.0,
        malformed=8.0,
        triggers=0.9,
        topics=0.95,
        surface=0.5,
        step=0.6,
        other_pieces=0.5,
    ),
    "temperature": Injected(Kind.TEMPERATURE, topics=0.8),
    "top-p": Injected(Kind.TOP_P, topics=0.6),
    "tool parser": Injected(Kind.TOOL_PARSER, malformed=12.0, surface=0.1),
    "cache": Injected(Kind.CACHE),
}


def seen_of(rng: np.random.Generator, cause: str) -> tuple[list[Sighting], float]:
    """What the tiers see of one endpoint with this cause, and its measured shift in nats."""
    truth = INJECTED[cause]
    moved = truth.shift * float(np.exp(truth.spread * rng.standard_normal()))
    # Three endpoints in ten give log-probabilities after temperature; the others show nothing of it.
    rescaled = truth.kind is Kind.TEMPERATURE and rng.random() < 0.3
    shift = abs((0.25 if rescaled else moved) + _ERROR * float(rng.standard_normal()))
    cached = truth.kind is Kind.CACHE
    seen = [
        Sighting.certain(Feature.COUNTS, _drawn(rng, truth.counts or {"same": 1.0})),
        Sighting.sized(Feature.FIRST_TOKENS, shift / DISTANCES["w8-channel"], _ERROR / DISTANCES["w8-channel"]),
        _mismatches(rng, _MISMATCHED + truth.mismatch * float(np.exp(0.3 * rng.standard_normal()))),
        Sighting.certain(Feature.SURFACE, _flag(rng, truth.surface, "moved"), 0.95),
        Sighting.certain(
            Feature.TIMING, "two" if cached and rng.random() < 0.7 else _flag(rng, truth.step, "step"), 0.8
        ),
        Sighting.certain(Feature.PIECES, _flag(rng, truth.other_pieces, "other")),
        Sighting.certain(Feature.REPEATS, "none" if cached and rng.random() < 0.8 else "same", 0.9),
        Sighting.certain(
            Feature.STREAM_TWINS, _flag(rng, 0.5 if truth.kind is Kind.TOOL_PARSER else 0.03, "differ"), 0.95
        ),
        Sighting.tested(
            Feature.TOOL_FORM, _likelier(rng.binomial(_CALLS, truth.malformed / 100.0), _CALLS, 0.015, 0.1)
        ),
        Sighting.tested(
            Feature.COLLISIONS, _likelier(rng.binomial(_REPLAYS, 0.8 if cached else 0.02), _REPLAYS, 0.02, 0.6)
        ),
        Sighting.tested(Feature.TRIGGERS, _e_value(rng, rng.random() < truth.triggers)),
        Sighting.tested(Feature.TOPICS, _e_value(rng, rng.random() < truth.topics)),
    ]
    if shift > 4.0 * _ERROR:
        shapes = "rescaled" if rescaled else "topical" if truth.kind is Kind.TEMPLATE and rng.random() < 0.35 else None
        seen.append(Sighting.certain(Feature.SHAPE, shapes or "scattered", 0.8))
    if not cached:  # Answers out of a cache are no draws.
        seen.append(_sampler(rng, truth.kind))
    return seen, shift


def attributed(rng: np.random.Generator, cause: str, *, missing: float = 0.0, engine: bool = True) -> Attribution:
    """missing: the chance of each feature that nothing was seen of it; engine: whether it computed likelihoods."""
    seen, shift = seen_of(rng, cause)
    kept = [one for one in seen if rng.random() >= missing]
    sized = any(one.feature is Feature.FIRST_TOKENS for one in kept)
    return attribute(
        kept,
        _SUSPECTS,
        likelihoods=_likelihoods(rng, cause) if engine else None,
        sizes=size_odds(shift, _ERROR, DISTANCES) if sized else None,
    )


def right(cause: str, found: Attribution) -> bool:
    truth = INJECTED[cause]
    return found.best.kind is truth.kind and truth.name in (None, found.best.cause.name)


def confusion(times: int, *, missing: float = 0.0, engine: bool = True, seed: int = 0) -> dict[str, Counter[str]]:
    """By injected cause, how often each name was ranked first; a right one goes by the injected cause's name."""
    rng = np.random.default_rng(seed)
    found: dict[str, Counter[str]] = {}
    for cause in INJECTED:
        answers = [attributed(rng, cause, missing=missing, engine=engine) for _ in range(times)]
        found[cause] = Counter(cause if right(cause, one) else one.best.cause.name for one in answers)
    return found


def cause_figures(times: int, *, seed: int = 0) -> Iterator[Figure]:
    """Rows of the confusion matrix, and the share that is wrong at most a tenth of (G11), simulated."""
    for what, missing, engine, most in (
        ("all tiers and the engine", 0.0, True, 0.1),
        ("all tiers, no likelihoods of the engine", 0.0, False, None),
        ("a fifth of the features unseen", 0.2, True, None),
    ):
        found = confusion(times, missing=missing, engine=engine, seed=seed)
        for cause, names in found.items():
            taken = ", ".join(f"{name} {count / times:.0%}" for name, count in names.most_common())
            yield Figure(f"simulated, {what}: {cause} is taken for: {taken}", 1.0 - names[cause] / times, "wrong")
        wrong = 1.0 - float(np.mean([names[cause] / times for cause, names in found.items()]))
        yield Figure(f"simulated, {what}: causes ranked first that are wrong ({times} each)", wrong, "", most, "G11")


def _likelihoods(rng: np.random.Generator, cause: str) -> dict[str, float]:
    """Of sampled tokens, as `LikelihoodRatio.gains` has them: normal with mean ±n·KL and twice the mean as variance,
    what small steps add up to. Six templates in ten are listed."""
    truth = INJECTED[cause]
    name = truth.name or ("template:listed" if truth.kind is Kind.TEMPLATE and rng.random() < 0.6 else None)
    means = {one: _SAMPLED * kl * (1.0 if one == name else -1.0) for one, kl in _KL.items()}
    return {one: mean + float(np.sqrt(2.0 * abs(mean)) * rng.standard_normal()) for one, mean in means.items()}


def _drawn(rng: np.random.Generator, chances: Mapping[str, float]) -> str:
    return str(rng.choice(list(chances), p=list(chances.values())))


def _flag(rng: np.random.Generator, chance: float, moved: str) -> str:
    return moved if rng.random() < chance else "same"


def _mismatches(rng: np.random.Generator, percent: float) -> Sighting:
    count = int(rng.binomial(_GREEDY, min(0.95, percent / 100.0)))
    error = 100.0 * float(np.sqrt(count + 1.0)) / _GREEDY
    return Sighting.sized(Feature.GREEDY, 100.0 * count / _GREEDY - _MISMATCHED, error)


def _likelier(count: int, of: int, before: float, after: float) -> float:
    """Likelihood ratio of a share after a change over the one before."""
    return float((after / before) ** count * ((1.0 - after) / (1.0 - before)) ** (of - count))


def _e_value(rng: np.random.Generator, moved: bool) -> float:
    """A bet that a change wins e^5 by, and that has mean 1 without one."""
    return float(np.exp(rng.normal(5.0, 2.0) if moved else rng.normal(-0.5, 1.0)))


def _sampler(rng: np.random.Generator, kind: Kind) -> Sighting:
    """T4's bets on draws from 50 tokens of about 2.8 nats of entropy: the product over draws for each alternative, then
    the average of the products (DETECTION.md §2.3)."""
    logits = 1.35 * np.sort(rng.standard_normal(50))[::-1]
    asked = _tempered(logits, 1.0)
    actual = asked
    if kind is Kind.TEMPERATURE:
        actual = _tempered(logits, float(rng.choice([0.8, 0.9])))
    if kind is Kind.TOP_P:
        actual = _cut_at(asked, float(rng.choice([0.9, 0.95])))
    counts = rng.multinomial(_DRAWS, actual)
    alternatives = {
        "temperature": [_tempered(logits, one) for one in (0.7, 0.85, 0.93, 1.07, 1.15)],
        "top-p": [0.9 * _cut_at(asked, one) + 0.1 * asked for one in (0.9, 0.95)],
        "top-k": [0.9 * _cut(asked, one) + 0.1 * asked for one in (10, 30)],
    }
    logs = {"as-asked": 0.0}
    for state, chances in alternatives.items():
        products = np.array([float(counts @ np.log(one / asked)) for one in chances])
        logs[state] = float(np.logaddexp.reduce(products) - np.log(len(products)))
    return Sighting.of(Feature.SAMPLER, logs)


def _tempered(logits: FloatArray, temperature: float) -> FloatArray:
    weights = np.exp((logits - logits.max()) / temperature)
    return np.asarray(weights / weights.sum())


def _cut_at(chances: FloatArray, p: float) -> FloatArray:
    return _cut(chances, int(np.searchsorted(np.cumsum(chances), p)) + 1)


def _cut(chances: FloatArray, k: int) -> FloatArray:
    kept = np.where(np.arange(chances.size) < k, chances, 0.0)
    return np.asarray(kept / kept.sum())
