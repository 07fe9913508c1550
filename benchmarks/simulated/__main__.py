"""False alarms, delays, dates and causes of changes, by simulation; exits 1 where a goal is missed.

.venv/bin/python -m benchmarks.simulated [--quick] [--parts nulls border …]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from benchmarks.simulated import (
    beside,
    causes,
    delays,
    likelihoods,
    mixtures,
    nulls,
    other_endpoint,
    rebaselines,
    whole_answers,
    whole_path,
)
from benchmarks.simulated.figure import Figure, printed
from benchmarks.simulated.rounds import HOURS, border_rounds, day_rates
from monitor.drift.decision import Average, EndpointState, look, weights
from monitor.drift.evidence import Evidence, Scores, StreamKey
from monitor.drift.levels import DAY
from monitor.drift.score_stream import StreamRule
from monitor.drift.streams import Epoch, StreamState, fold

Part = Callable[[float, int], Iterable[Figure]]


def _times(most: int, scale: float) -> int:
    return max(20, round(most * scale))


def null_figures(scale: float, seed: int) -> Iterator[Figure]:
    yield from nulls.false_alarms(nulls.border, _times(20_000, scale), seed=seed)
    yield from nulls.false_alarms(nulls.border, _times(4_000, scale), calibration_days=7, seed=seed)
    yield from nulls.false_alarms(nulls.border_of_like_days, _times(2_000, scale), seed=seed)
    yield from nulls.false_alarms(nulls.fingerprint, _times(400, scale), seed=seed)
    yield nulls.without_days(_times(1_000, scale), seed=seed)


def rank_figures(scale: float, seed: int) -> Iterator[Figure]:
    for lawful in (nulls.border_of_like_days, nulls.border):
        what = f"{lawful.__name__}: ranks alone reach 100 within the days of baseline"
        yield Figure(what, nulls.by_rank(lawful, _times(200, scale), seed=seed), "")


PARTS: dict[str, Part] = {
    "nulls": null_figures,
    "ranks": rank_figures,
    "endpoints": lambda scale, seed: nulls.false_discoveries(_times(100, scale), seed=seed),
    "border": lambda scale, seed: delays.border_delays(_times(400, scale), seed=seed),
    "dates": lambda scale, seed: delays.dates(_times(100, scale), seed=seed),
    "fingerprint": lambda scale, seed: delays.fingerprint_delays(_times(60, scale), seed=seed),
    "answers": lambda scale, seed: whole_path.figures(_times(60, scale), seed=seed),
    "likelihoods": lambda scale, seed: likelihoods.figures(_times(4_000, scale), seed=seed),
    "causes": lambda scale, seed: causes.cause_figures(_times(300, scale), seed=seed),
    "mixtures": mixtures.mixture_figures,
    "beside": lambda scale, seed: beside.figures(_times(400, scale), seed=seed),
    "rebaselines": lambda scale, seed: rebaselines.figures(_times(2_000, scale), seed=seed),
    "reference": lambda scale, seed: other_endpoint.figures(_times(4_000, scale), seed=seed),
    "whole": lambda scale, seed: whole_answers.figures(_times(4_000, scale), _times(200, scale), seed=seed),
    "cpu": lambda _, seed: [endpoint_day(seed), whole_path.scoring_day(seed)],
}


def endpoint_day(seed: int) -> Figure:
    """CPU time of an endpoint's day: hourly rounds of all its tiers, levels from the days before, and every look."""
    keys = [StreamKey("e", tier, "1") for tier in delays.WITH]
    rng = np.random.default_rng(seed)
    days = [border_rounds(rng, day_rates(rng, 1, 15))[0] for _ in keys]
    evidence = [
        [Evidence(key, hour * DAY / HOURS, Scores((score,))) for hour, score in enumerate(scores.tolist())]
        for key, scores in zip(keys, days, strict=True)
    ]
    new = [StreamState(key, StreamRule(), Epoch(0, 0.0, "stack")) for key in keys]
    known = 14 * HOURS
    streams = [fold(state, given[:known]) for state, given in zip(new, evidence, strict=True)]
    weighing = weights(keys)
    began = time.process_time()
    endpoint = EndpointState()
    for hour in range(known, known + HOURS):
        streams = [state.after(given[hour]) for state, given in zip(streams, evidence, strict=True)]
        endpoint = look(endpoint, Average.of(streams, weighing)).state
    return Figure("an endpoint's day, six tiers by the hour", (time.process_time() - began) * 1e3, "ms", 50.0, "CPU")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the repetitions, the same thresholds")
    parser.add_argument("--parts", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    scale = 0.1 if options.quick else 1.0
    figures = printed(one for part in options.parts for one in PARTS[part](scale, options.seed))
    sys.exit(any(one.missed for one in figures))


if __name__ == "__main__":
    main()
