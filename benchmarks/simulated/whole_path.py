"""False alarms and delays of T1 and T2 from answers themselves: enrolled, scored and bet on."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from benchmarks.simulated.delays import SHIFTS, WITH, WITHOUT, needed
from benchmarks.simulated.figure import Figure, share
from benchmarks.simulated.lists import Borders, Lists
from benchmarks.simulated.rounds import CALIBRATION_DAYS, EPOCH_DAYS, HOURS
from monitor.drift.anchors import SCORED, anchor_evidence
from monitor.drift.border_scores import BorderInputs, border_evidence, enrol_border
from monitor.drift.evidence import Evidence, Scores, StreamKey, Tier
from monitor.drift.fingerprint import Enrolment, enrol
from monitor.drift.fingerprint_scores import Asked, deviation_evidence, log_odds_evidence
from monitor.drift.levels import DAY
from monitor.drift.score_stream import Round, ScoreStream, StreamRule
from monitor.drift.whitened_scores import whiten

T1, T2 = StreamKey("endpoint", Tier.LOGPROBS, "1"), StreamKey("endpoint", Tier.BORDER, "1")
BASELINE, EPOCH = CALIBRATION_DAYS * HOURS, EPOCH_DAYS * HOURS
_HOUR = DAY / HOURS


class Scoring(Protocol):
    def __call__(self, enrolment: Enrolment, asked: Asked) -> Evidence: ...


def rounds_of(evidence: Sequence[Evidence]) -> list[Round]:
    """Raises ValueError where a round was inapplicable: made-up answers never are."""
    found = []
    for one in evidence:
        if not isinstance(one.says, Scores):
            raise ValueError(f"no scores: {one.says}")
        found.append(Round(one.at, one.says.mean))
    return found


def values(baseline: Sequence[Round], epoch: Sequence[Round]) -> list[float]:
    """The stream's value after each round of the epoch, with levels from the baseline; empty where it gives none."""
    state = ScoreStream.with_baseline(StreamRule(), baseline, epoch[0].at)
    found = []
    for one in epoch if state.bets is not None else ():
        state = state.after(one)
        found.append(state.value)
    return found


def list_values(
    rng: np.random.Generator,
    before: Lists,
    after: Lists,
    *,
    still: int = HOURS,
    hours: int = EPOCH,
    daily: float = 0.0,
    scored: Scoring = deviation_evidence,
) -> list[float]:
    """T1: `before` is enrolled from its 14 days, and becomes `after` `still` hours into an epoch of `hours`."""
    baseline = before.hours(rng, BASELINE, daily=daily)
    enrolment = enrol(listing for answers in baseline for listing in answers)
    if not isinstance(enrolment, Enrolment):
        return []
    epoch = before.hours(rng, still, first=BASELINE, daily=daily)
    epoch += after.hours(rng, hours - still, first=BASELINE + still, daily=daily)
    asked = [Asked(T1, answers[0].at, answers) for answers in baseline + epoch]
    found = rounds_of([scored(enrolment, one) for one in asked])
    return values(found[:BASELINE], found[BASELINE:])


def border_values(rng: np.random.Generator, elsewhere: float, *, still: int = HOURS, hours: int = EPOCH) -> list[float]:
    """T2: from `still` hours into the epoch on so many queries go to another model."""
    enrolled = enrol_border(Borders().counts(rng))
    if not isinstance(enrolled, BorderInputs):
        return []
    prompts = [one.prompt for one in enrolled.inputs]
    firsts = Borders().hours(rng, BASELINE + still, prompts)
    firsts += Borders(elsewhere).hours(rng, hours - still, prompts)
    found = rounds_of([border_evidence(enrolled, T2, hour * _HOUR, asked) for hour, asked in enumerate(firsts)])
    return values(found[:BASELINE], found[BASELINE:])


def delay(path: Sequence[float], needs: float, still: int = HOURS) -> float:
    """Rounds from the change to the proof; infinite without one."""
    proven = np.flatnonzero(np.array(path) >= needs)
    return float(proven[0]) + 1.0 - still if proven.size else np.inf


def figures(endpoints: int, *, seed: int = 0) -> Iterator[Figure]:
    rng = np.random.default_rng(seed)
    same = [Lists.of(rng, 0.03) for _ in range(endpoints)]
    scorings: dict[str, Scoring] = {"deviations": deviation_evidence, "log-odds": log_odds_evidence}
    for name, scored in scorings.items():
        largest = [max(path) for one in same if (path := list_values(rng, one, one, daily=0.15, scored=scored))]
        yield share(f"T1 from lists ({name}), 0.03 nat: epochs that reach 100", np.array(largest) >= 100.0, 0.01, "G9")
    yield from _list_delays(rng, endpoints)
    largest = [max(path) for _ in range(endpoints) if (path := border_values(rng, 0.0))]
    yield share("T2 from first tokens, days that differ: epochs that reach 100", np.array(largest) >= 100.0, 0.01, "G9")
    needs = needed(Tier.BORDER, WITHOUT)
    for elsewhere, most in ((1.0, 15.0), (0.5, 30.0)):
        paths = [path for _ in range(endpoints) if (path := border_values(rng, elsewhere, hours=8 * HOURS))]
        rounds = [delay(path, needs) for path in paths]
        yield Figure(
            f"T2 from first tokens, {elsewhere:.0%} another model: median rounds ({len(rounds)})",
            float(np.median(rounds)),
            "rounds",
            most,
            "G3",
        )


def _list_delays(rng: np.random.Generator, endpoints: int) -> Iterator[Figure]:
    needs = needed(Tier.LOGPROBS, WITH)
    for noise, most in ((0.03, 24.0), (0.06, 48.0)):
        for name in ("int8", "fp8", "nf4"):
            pairs = [(one, one.moved(rng, SHIFTS[name])) for _ in range(endpoints) for one in [Lists.of(rng, noise)]]
            paths = [path for pair in pairs if (path := list_values(rng, *pair, hours=6 * HOURS))]
            rounds = [delay(path, needs) for path in paths]
            what = f"T1 from lists, noise {noise:g} nat, {name}: median rounds ({len(rounds)})"
            yield Figure(what, float(np.median(rounds)), "rounds", most, "G1")


def scoring_day(seed: int) -> Figure:
    """CPU time of scoring a day of hourly lists, 8 prompts of 20 tokens, by all that checks feed of them."""
    rng = np.random.default_rng(seed)
    endpoint = Lists.of(rng, 0.03)
    came = [listing for answers in endpoint.hours(rng, BASELINE) for listing in answers]
    enrolment = enrol(came)
    if not isinstance(enrolment, Enrolment):
        raise ValueError(f"not enrolled: {enrolment.reason}")
    whitened = whiten(enrolment, came)
    day = [Asked(T1, answers[0].at, answers) for answers in endpoint.hours(rng, HOURS)]
    began = time.process_time()
    for asked in day:
        anchor_evidence("e", whitened, asked.at, asked.listings, 0)
    return Figure(
        f"scoring a day of hourly lists, {len(SCORED)} ways", (time.process_time() - began) * 1e3, "ms", 50.0, "CPU"
    )
