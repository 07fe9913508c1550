"""What a run of the protocol probe says of an endpoint's past: do parameters do what they did, does the serving stack
write as it wrote, and are the same prompts as many tokens?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from monitor.drift.accounting import count_test
from monitor.drift.feature_shift import Histograms, apart_from_routing, feature_test, stack_change
from monitor.drift.findings import Finding
from monitor.drift.multiplicity import shared
from monitor.drift.observation import Observation
from monitor.drift.rule import DRIFT_P, SUSPECT_P, Verdict, holm
from monitor.drift.ternary import Outcome, verdict
from probes.parameters.judgement import Effect
from probes.profile.features import VARYING, Feature

# Of fewer responses of one kind on both sides nothing is concluded of a stack.
LEAST_RESPONSES = 8
# What a stack says of itself, which nobody has to parse: it changes with every deployment, and is news rather than
# harm.
_ANNOUNCED = frozenset({Feature.SYSTEM_FINGERPRINT, Feature.SERVER, Feature.VIA, Feature.HEADERS})
_LISTS = frozenset(
    {Feature.ENVELOPE_KEYS, Feature.CHOICE_KEYS, Feature.MESSAGE_KEYS, Feature.USAGE_KEYS, Feature.HEADERS}
)
_CLEAR = (Effect.ACTS, Effect.IGNORED, Effect.REFUSED)
_LONGEST = 60
# Each with an equal part of the error of the run, and Holm's within it.
_FAMILIES = 3

FeatureCounts = Mapping[str, Mapping[str, Mapping[str, int]]]


@dataclass(frozen=True, slots=True)
class EffectSeen:
    """What a parameter was found to do, and how probable that is where it is not so; 1 where nothing bounds it."""

    effect: Effect
    error: float = 1.0


@dataclass(frozen=True, slots=True)
class ProtocolFacts:
    """What is kept of a run: the effect of each parameter by the name of its experiment; how often each value of each
    feature came, by kind of response and feature; how often each variant answered; the tokens of the ladder's prompts.
    """

    effects: Mapping[str, EffectSeen] = field(default_factory=dict)
    features: FeatureCounts = field(default_factory=dict)
    variants: Mapping[str, int] = field(default_factory=dict)
    prompt_tokens: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FeatureMove:
    """A feature that shows another value than before. adjusted_p: over all features and families of the run. unseen: a
    value that a feature which had one value in hundreds of responses never showed."""

    feature: Feature
    before: str
    now: str
    adjusted_p: float
    unseen: bool = False

    @property
    def is_event(self) -> bool:
        """Whether the serving stack was changed, and not only seems to have been."""
        return self.unseen or self.adjusted_p <= DRIFT_P

    @property
    def words(self) -> str:
        return f"{self.feature} {_change(self.feature, self.before, self.now)}"


@dataclass(frozen=True, slots=True)
class ProtocolAssessment:
    """`before` is the one clear effect that each parameter had in the accepted runs."""

    parameters: Finding
    stack: Finding
    tokens: Finding
    before: Mapping[str, Effect]
    moves: tuple[FeatureMove, ...]

    @property
    def findings(self) -> tuple[Finding, Finding, Finding]:
        return self.parameters, self.stack, self.tokens


def assess_protocol(
    now: ProtocolFacts, past: Sequence[ProtocolFacts], *, no_past: str, shares: int = 1
) -> ProtocolAssessment:
    """`no_past` says why there is nothing to compare with; `shares` are those of the check."""
    if not past:
        none = Finding(Verdict.INCONCLUSIVE, no_past, unit="changes")
        parameters, stack = replace(none, n=len(now.effects)), replace(none, n=_responses(now.features))
        return ProtocolAssessment(parameters, stack, replace(none, unit="token", n=len(now.prompt_tokens)), {}, ())
    parts = _FAMILIES * shares
    parameters, before = _parameters(now.effects, [run.effects for run in past], parts)
    stack, moves = _stack(now.features, _together(run.features for run in past), parts)
    return ProtocolAssessment(parameters, stack, _tokens(now.prompt_tokens, past, parts), before, moves)


def _parameters(
    now: Mapping[str, EffectSeen], past: Sequence[Mapping[str, EffectSeen]], parts: int
) -> tuple[Finding, dict[str, Effect]]:
    seen = {name: _settled([run[name] for run in past if name in run]) for name in now}
    before = {name: found for name, found in seen.items() if found is not None}
    comparable = {name: found for name, found in before.items() if now[name].effect in _CLEAR}
    changed = [name for name, found in comparable.items() if now[name].effect is not found.effect]
    # Either it never did what it was seen to do before, or it does so still: one of the two findings is wrong.
    errors = {name: max(found.error, now[name].error) if name in changed else 1.0 for name, found in comparable.items()}
    adjusted = shared(holm(errors), parts)
    clear = {name: found.effect for name, found in before.items()}
    if not before:
        why = "no parameter was clear in the accepted runs"
        return Finding(Verdict.INCONCLUSIVE, why, unit="changes", n=len(now)), clear
    unclear = [name for name in before if name not in comparable]
    outcomes = [_outcome(name, comparable, changed) for name in before]
    p = min(adjusted.values(), default=1.0)
    words = [f"{name} {clear[name].value} → {now[name].effect.value}" for name in changed]
    words += [f"unclear now: {', '.join(unclear)}"] if unclear else []
    finding = Finding(
        verdict(outcomes, p),
        "; ".join(words),
        value=float(len(changed)),
        unit="changes",
        adjusted_p=p if comparable else None,
        n=len(comparable),
    )
    return finding, clear


def _outcome(name: str, comparable: Mapping[str, EffectSeen], changed: Sequence[str]) -> Outcome:
    if name not in comparable:
        return Outcome.INCONCLUSIVE
    return Outcome.FAIL if name in changed else Outcome.PASS


def _settled(seen: Sequence[EffectSeen]) -> EffectSeen | None:
    """The one clear effect of the accepted runs; None where they had none, or several. Runs are asked with other words,
    so that they are wrong each by itself."""
    clear = [one for one in seen if one.effect in _CLEAR]
    if len({one.effect for one in clear}) != 1:
        return None
    return EffectSeen(clear[0].effect, prod(one.error for one in clear))


def _stack(now: FeatureCounts, past: FeatureCounts, parts: int) -> tuple[Finding, tuple[FeatureMove, ...]]:
    strata = {
        feature: apart_from_routing(
            [
                Histograms(past[kind][feature], features[feature])
                for kind, features in now.items()
                if feature in features and feature in past.get(kind, {})
            ]
        )
        for feature in Feature
        if feature not in VARYING
    }
    p_values = {feature.value: _p(sides) for feature, sides in strata.items() if sides}
    adjusted = shared(holm(p_values), parts)
    events = {feature for feature in p_values if any(stack_change(side) for side in strata[Feature(feature)])}
    moves = tuple(
        FeatureMove(feature, *_ends(strata[feature]), adjusted[feature], feature in events)
        for feature in strata
        if feature in adjusted and (adjusted[feature] <= SUSPECT_P or feature in events)
    )
    n = sum(
        max((sum(one.values()) for one in kinds.values()), default=0) for kind, kinds in now.items() if kind in past
    )
    if n < LEAST_RESPONSES:
        why = f"{n} responses of kinds seen before, and {LEAST_RESPONSES} are needed"
        return Finding(Verdict.INCONCLUSIVE, why, unit="changes", n=n), moves
    finding = Finding(
        _stack_verdict(moves),
        "; ".join(move.words for move in moves),
        value=float(len(moves)),
        unit="changes",
        adjusted_p=min(adjusted.values(), default=None),
        n=n,
    )
    return finding, moves


def _p(strata: Sequence[Histograms]) -> float:
    """Where each kind shows one value and no other, there is nothing to deal."""
    if all(len({*side.baseline, *side.new}) == 1 for side in strata):
        return 1.0
    found = feature_test(strata)
    return 1.0 if found is None else found.p


def _stack_verdict(moves: Sequence[FeatureMove]) -> Verdict:
    """A new value of a feature that never had another one is told whatever its p."""
    if any(move.adjusted_p <= DRIFT_P and move.feature not in _ANNOUNCED for move in moves):
        return Verdict.DRIFT
    return Verdict.SUSPECT if moves else Verdict.OK


def _ends(strata: Sequence[Histograms]) -> tuple[str, str]:
    """The value whose share fell most and the one whose share rose most, in the stratum that moved furthest."""
    moved = [
        {value: _share(side.new, value) - _share(side.baseline, value) for value in {*side.new, *side.baseline}}
        for side in strata
    ]
    furthest = max(moved, key=lambda shares: max(map(abs, shares.values())))
    ordered = sorted(furthest, key=lambda value: (furthest[value], value))
    return ordered[0], ordered[-1]


def _share(counts: Mapping[str, int], value: str) -> float:
    return counts.get(value, 0) / max(1, sum(counts.values()))


def _change(feature: Feature, before: str, now: str) -> str:
    """Of lists of keys only what came and went."""
    if feature in _LISTS:
        then, since = before.split(","), now.split(",")
        told = [f"+{key}" for key in since if key not in then] + [f"−{key}" for key in then if key not in since]
        return _cut(" ".join(told)) if told else "in another order"
    return f"{_cut(before)} → {_cut(now)}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _tokens(now: Mapping[str, int], past: Sequence[ProtocolFacts], parts: int) -> Finding:
    before = [_count(key, tokens) for run in past for key, tokens in run.prompt_tokens.items()]
    test = count_test(before, [_count(key, tokens) for key, tokens in now.items()])
    if test is None:
        return Finding(Verdict.INAPPLICABLE, "the endpoint counts no prompt tokens", unit="token")
    if test.p is None:
        return Finding(Verdict.INCONCLUSIVE, "no prompt in common with the accepted runs", unit="token", n=len(now))
    counted: dict[str, set[int]] = defaultdict(set)
    for run in past:
        for key, tokens in run.prompt_tokens.items():
            counted[key].add(tokens)
    common = [key for key in now if key in counted]
    moved = [key for key in common if now[key] not in counted[key]]
    p = min(1.0, parts * test.p)
    if not moved:
        return Finding(Verdict.OK, unit="token", value=0.0, adjusted_p=p, n=len(common))
    return Finding(
        verdict([Outcome.FAIL], p),
        f"{len(moved)} of {len(common)} prompts are counted otherwise than before",
        value=float(test.moved or 0),
        unit="token",
        adjusted_p=p,
        n=len(common),
    )


def _count(key: str, tokens: int) -> Observation:
    """By its past alone: another reference must not make it another count."""
    nothing = np.empty(0)
    return Observation(key, 0, True, (), nothing, None, (), {}, tokens, None, None)


def _together(runs: Iterable[FeatureCounts]) -> FeatureCounts:
    found: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for run in runs:
        for kind, features in run.items():
            for feature, counts in features.items():
                found[kind][feature].update(counts)
    return found


def _responses(features: FeatureCounts) -> int:
    return sum(max((sum(one.values()) for one in kinds.values()), default=0) for kinds in features.values())
