"""Percentiles of the times by prompt size, and the share of requests that met what was promised (goodput)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from probes.latency import Percentile, percentile_interval
from probes.load.times import ALL_BUCKETS, METRICS, StreamLatency, latency_of, prompt_tokens
from probes.plan import Outcome, Sample
from probes.wire.usage import BURST_TOKENS

QUANTILES = (0.5, 0.95, 0.99)
# Turned away, or never asked: no word on how the endpoint serves what it takes.
_NOT_SERVED = frozenset({Outcome.RATE_LIMITED, Outcome.REFUSED, Outcome.SKIPPED})


@dataclass(frozen=True, slots=True)
class Figure:
    """One quantile of one metric in one bucket of prompt sizes, of `n` values; bounds are of 95 % each."""

    bucket: str
    metric: str
    quantile: float
    n: int
    at: Percentile


def figures(times: Iterable[StreamLatency]) -> list[Figure]:
    """By bucket, metric and quantile; the smallest prompts first, and no bucket without values."""
    by_bucket: dict[str, list[StreamLatency]] = defaultdict(list)
    for one in times:
        by_bucket[one.bucket].append(one)
    return [
        Figure(bucket, metric, quantile, len(values), percentile_interval(values, quantile))
        for bucket in ALL_BUCKETS
        if (streams := by_bucket.get(bucket))
        for metric in METRICS
        if (values := _values(streams, metric))
        for quantile in QUANTILES
    ]


def _values(streams: Sequence[StreamLatency], metric: str) -> list[float]:
    return [value for stream in streams if (value := getattr(stream, metric)) is not None]


@dataclass(frozen=True, slots=True)
class Promise:
    """What a request of at most `up_to` prompt tokens (None: of any size) is to keep to, in seconds; None where nothing
    is promised."""

    ttft: float | None = None
    ttfa: float | None = None
    tpot: float | None = None
    end_to_end: float | None = None
    up_to: int | None = None

    def limits(self) -> dict[str, float]:
        held = {"ttft": self.ttft, "ttfa": self.ttfa, "tpot": self.tpot, "end_to_end": self.end_to_end}
        return {name: limit for name, limit in held.items() if limit is not None}


@dataclass(frozen=True, slots=True)
class Share:
    """`met` of `counted` requests; `excluded` are those of which it cannot be said, by reason. `value` is None where
    none is left."""

    met: int
    counted: int
    excluded: Mapping[str, int] = field(default_factory=dict)

    @property
    def value(self) -> float | None:
        return self.met / self.counted if self.counted else None


def goodput(samples: Iterable[Sample], promises: Sequence[Promise]) -> Share:
    """The share that kept every limit, from when they were due, of the first of the promises that is made for a prompt
    of its size. One that failed, timed out or brought nothing kept none."""
    seen = Counter(_standing(sample, promises) for sample in samples)
    met, broken = seen.pop("met", 0), seen.pop("broken", 0)
    return Share(met, met + broken, dict(seen))


def _standing(sample: Sample, promises: Sequence[Promise]) -> str:
    """ "met", "broken", or why neither can be said."""
    if sample.outcome in _NOT_SERVED:
        return sample.outcome.value
    promise = _promised(sample, promises)
    if promise is None:
        return "nothing promised"
    if sample.outcome is not Outcome.OK:
        return "broken"
    times = latency_of(sample)
    if times is None:
        return "broken" if _was_streamed(sample) else "not streamed"
    limits = promise.limits()
    values = {name: getattr(times, name) for name in limits}
    if any(value is not None and value > limits[name] for name, value in values.items()):
        return "broken"
    unknown = [name for name, value in values.items() if value is None]
    return f"{unknown[0]} unknown" if unknown else "met"


def _was_streamed(sample: Sample) -> bool:
    return sample.completion is not None and sample.completion.timings.first_event is not None


def _promised(sample: Sample, promises: Sequence[Promise]) -> Promise | None:
    """One of unknown size may be of any: only what is promised to all holds for it."""
    tokens = prompt_tokens(sample)
    held = (one for one in promises if one.up_to is None or (tokens is not None and tokens <= one.up_to))
    return next(held, None)


def buffered(samples: Iterable[Sample]) -> Share:
    """`met` of `counted` streams brought their output at once, so that their pace tells nothing of its making; of one
    with few tokens that cannot be said."""
    seen: Counter[str] = Counter()
    for sample in samples:
        times = latency_of(sample)
        if times is not None:
            seen["few tokens" if _is_short(sample) else "met" if times.buffered else "not"] += 1
    at_once, steadily = seen.pop("met", 0), seen.pop("not", 0)
    return Share(at_once, at_once + steadily, dict(seen))


def _is_short(sample: Sample) -> bool:
    tokens = sample.completion.shown_tokens if sample.completion is not None else None
    return tokens is not None and tokens < BURST_TOKENS
