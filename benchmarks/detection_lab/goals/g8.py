"""G8: a larger share of tool calls that break their schema is proven in few calls, and so is another parser.

Calls are simulated: each is broken with the share's chance; counts go through the product's factors, a hundred calls a
day. The lawful share is the one that is stated, as a model's own validity on its reference; beside it what comes of the
99 % bound of fourteen days of the endpoint's own. Another parser is seen by how it writes, in the form of call ids
alone, by the protocol's assessment of a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection_lab.goals.figure import Figure, Lab, share
from benchmarks.simulated.delays import WITH, needed
from monitor.drift.broken_calls import lawful_share, log_factors
from monitor.drift.evidence import Tier
from monitor.drift.likelihood_ratios import Counted, fewest_events
from monitor.drift.multiplicity import MOST_SHARES
from monitor.drift.paths import wealth_paths
from monitor.drift.protocol import ProtocolFacts, assess_protocol
from monitor.drift.rule import Verdict
from probes.profile.features import Feature
from probes.profile.identifiers import form_of

Floats = NDArray[np.float64]

CALLS, DAYS, UNCHANGED_DAYS, BASELINE_DAYS = 100, 30, 5, 14
ALPHA = 1e-3
EPOCHS, QUICK_EPOCHS = 2_000, 400
NULL_EPOCHS, QUICK_NULL_EPOCHS = 20_000, 4_000
FALSE_ALARMS = 0.01
PARSER_CALLS, MOST_PARSER_CALLS = 100, 100
KIND = "calls"


@dataclass(frozen=True, slots=True)
class Worse:
    """Shares of broken calls, and how many calls the proof may take."""

    before: float
    now: float
    most: float | None = None

    def __str__(self) -> str:
        return f"{1.0 - self.before:.1%} valid become {1.0 - self.now:.1%}"


# The last: what two servers made of one model's calls (K2VV).
CHANGES = (Worse(0.02, 0.05, 900.0), Worse(0.02, 0.10, 200.0), Worse(0.045, 0.128))


def measure(lab: Lab) -> list[Figure]:
    rng = np.random.default_rng((lab.seed, 8))
    epochs = QUICK_EPOCHS if lab.quick else EPOCHS
    return [
        *(figure for one in CHANGES for figure in of_change(one, epochs, rng)),
        *alarms(QUICK_NULL_EPOCHS if lab.quick else NULL_EPOCHS, rng),
        *parser(),
    ]


def of_change(one: Worse, epochs: int, rng: np.random.Generator) -> Iterator[Figure]:
    stated = np.full(epochs, one.before)
    yield Figure(f"{one}: median calls", float(np.median(delays(one, stated, rng))), most=one.most, form=".0f")
    own = np.array([lawful_share(int(bad), CALLS * BASELINE_DAYS) for bad in _baselines(one, epochs, rng)])
    yield Figure(f"{one}, own baseline: median calls", float(np.median(delays(one, own, rng))), form=".0f")
    yield Figure(
        f"{one}: bound of calls, one stream alone", fewest_events(Counted(one.before, one.now), ALPHA, DAYS), form=".0f"
    )


def _baselines(one: Worse, epochs: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return rng.binomial(CALLS * BASELINE_DAYS, one.before, epochs)


def delays(one: Worse, lawful: Floats, rng: np.random.Generator) -> Floats:
    """Calls from the change to drift of the endpoint in each epoch, ∞ without; lawful: of each, [epochs]."""
    bad = rng.binomial(CALLS, one.before, (len(lawful), DAYS))
    bad[:, UNCHANGED_DAYS:] = rng.binomial(CALLS, one.now, (len(lawful), DAYS - UNCHANGED_DAYS))
    proven = values(bad, lawful) >= needed(Tier.CAPABILITY, WITH)
    first = np.where(proven.any(axis=1), proven.argmax(axis=1) + 1.0 - UNCHANGED_DAYS, np.inf)
    return np.asarray(np.where(first > 0.0, first, np.inf) * CALLS)


def values(bad: NDArray[np.int64], lawful: Floats) -> Floats:
    """The stream's value after every day of counts [epochs, days]."""
    logs = np.stack([log_factors(row, CALLS, level) for row, level in zip(bad, lawful.tolist(), strict=True)])
    return wealth_paths(np.exp(logs), DAYS)


def alarms(epochs: int, rng: np.random.Generator) -> Iterator[Figure]:
    lawful = CHANGES[0].before
    highest = values(rng.binomial(CALLS, lawful, (epochs, DAYS)), np.full(epochs, lawful)).max(axis=1)
    yield share(f"{1.0 - lawful:.0%} valid throughout: epochs at 100", highest >= 1.0 / FALSE_ALARMS, FALSE_ALARMS)


def parser() -> Iterator[Figure]:
    """vLLM's ids become SGLang's, and nothing else; of an enrolment of one day's calls."""
    before, after = form_of(f"chatcmpl-tool-{'0a1b2c3d' * 4}"), form_of(f"call_{'0a1b2c' * 4}")
    past = [_written(before, PARSER_CALLS)]
    seen = next((n for n in range(1, MOST_PARSER_CALLS + 1) if _drifts(_written(after, n), past)), float("inf"))
    yield Figure(f"another parser, ids {before} become {after}: calls", float(seen), most=MOST_PARSER_CALLS, form=".0f")
    same = sum(_drifts(_written(before, n), past) for n in range(1, MOST_PARSER_CALLS + 1))
    yield Figure("the same parser: runs of 1 to 100 calls that are drift", float(same), most=0.0, form=".0f")


def _written(form: str, calls: int) -> ProtocolFacts:
    return ProtocolFacts(features={KIND: {Feature.CALL_ID.value: {form: calls}}})


def _drifts(now: ProtocolFacts, past: list[ProtocolFacts]) -> bool:
    return assess_protocol(now, past, no_past="", shares=MOST_SHARES).stack.verdict is Verdict.DRIFT
