"""Percentiles of the times by prompt size, and the share of requests that met what was promised (goodput)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from probes.latency import Percentile, percentile_interval
from probes.load.times import METRICS, StreamLatency, latency_of
from probes.plan import Outcome, Sample

QUANTILES = (0.5, 0.95, 0.99)
# Turned away, or never asked: no word on how the endpoint serves what it takes.
_NOT_SERVED = frozenset({Outcome.RATE_LIMITED, Outcome.SKIPPED})


@dataclass(frozen=True, slots=True)
class Figure:
    """One quantile of one metric in one bucket of prompt sizes, of `n` values; bounds are of 95 % each."""

    bucket: str
    metric: str
    quantile: float
    n: int
    at: Percentile


def figures(times: Iterable[StreamLatency]) -> list[Figure]:
    """By bucket, metric and quantile; buckets in the order of their first stream, and none without values."""
    by_bucket: dict[str, list[StreamLatency]] = defaultdict(list)
    for one in times:
        by_bucket[one.bucket].append(one)
    return [
        Figure(bucket, metric, quantile, len(values), percentile_interval(values, quantile))
        for bucket, streams in by_bucket.items()
        for metric in METRICS
        if (values := _values(streams, metric))
        for quantile in QUANTILES
    ]


def _values(streams: Sequence[StreamLatency], metric: str) -> list[float]:
    return [value for stream in streams if (value := getattr(stream, metric)) is not None]


@dataclass(frozen=True, slots=True)
class Promise:
    """What a request is to keep to, in seconds; None where nothing is promised."""

    ttft: float | None = None
    ttfa: float | None = None
    tpot: float | None = None
    end_to_end: float | None = None

    def limits(self) -> dict[str, float]:
        held = {"ttft": self.ttft, "ttfa": self.ttfa, "tpot": self.tpot, "end_to_end": self.end_to_end}
        return {name: limit for name, limit in held.items() if limit is not None}


@dataclass(frozen=True, slots=True)
class Goodput:
    """`met` of `counted` requests kept every limit, from when they were due. One that failed or timed out kept none;
    `excluded` are those of which it cannot be said, by reason. `value` is None where none is left."""

    met: int
    counted: int
    excluded: Mapping[str, int] = field(default_factory=dict)

    @property
    def value(self) -> float | None:
        return self.met / self.counted if self.counted else None


def goodput(samples: Iterable[Sample], promise: Promise) -> Goodput:
    seen = Counter(_standing(sample, promise) for sample in samples)
    met, broken = seen.pop("met", 0), seen.pop("broken", 0)
    return Goodput(met, met + broken, dict(seen))


def _standing(sample: Sample, promise: Promise) -> str:
    """ "met", "broken", or why neither can be said."""
    if sample.outcome in _NOT_SERVED:
        return sample.outcome.value
    times = latency_of(sample) if sample.outcome is Outcome.OK else None
    if times is None:
        return "no output" if sample.outcome is Outcome.OK else "broken"
    limits = promise.limits()
    values = {name: getattr(times, name) for name in limits}
    if any(value is not None and value > limits[name] for name, value in values.items()):
        return "broken"
    unknown = [name for name, value in values.items() if value is None]
    return f"{unknown[0]} unknown" if unknown else "met"
