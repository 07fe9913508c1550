"""The times of one stream from when it was due, and the bucket of prompt sizes it is compared in."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

from probes.latency import is_buffered, tpot
from probes.plan import Sample

# Upper ends of the buckets but the last, in prompt tokens.
_EDGES = (1_000, 4_000, 16_000, 32_000, 64_000, 128_000)
UNKNOWN = "unknown"
# What the keys of load streams begin with; the size that was meant follows.
LOAD = "load"


@dataclass(frozen=True, slots=True)
class StreamLatency:
    """Seconds; what cannot be known is None. `late` is how long after it was due the request left, less what our own
    pace held it back, and 0 without a schedule. It is part of `ttft` (first output of any kind), `ttfa` (first that is
    no reasoning) and `end_to_end` (to the end of the answer), not of the others.

    `tpot` is the time per output token after the first chunk. `gap_median` and `gap_max` are between chunks, which are
    no tokens: `tokens_per_chunk` says how many come at once on average. A buffered stream has none of these four.
    """

    bucket: str
    late: float
    ttft: float
    ttfa: float | None
    end_to_end: float | None
    tpot: float | None
    gap_median: float | None
    gap_max: float | None
    tokens_per_chunk: float | None
    buffered: bool


METRICS = ("ttft", "ttfa", "end_to_end", "tpot", "gap_median", "gap_max", "tokens_per_chunk")


def latency_of(sample: Sample) -> StreamLatency | None:
    """The times of one sample, None where it is no stream that brought output."""
    completion = sample.completion
    first = completion.timings.first_output if completion is not None else None
    if completion is None or first is None:
        return None
    timings, tokens = completion.timings, completion.shown_tokens
    late = max(0.0, (sample.late_s or 0.0) - (sample.held_s or 0.0))
    buffered = is_buffered(timings)
    gaps = [] if buffered else [later - earlier for earlier, later in pairwise(timings.chunks)]
    end = timings.finish if timings.finish is not None else timings.last_output
    return StreamLatency(
        bucket=bucket_of(prompt_tokens(sample)),
        late=late,
        ttft=late + first,
        ttfa=_from_due(late, timings.first_answer),
        end_to_end=_from_due(late, end),
        tpot=tpot(timings, tokens),
        gap_median=statistics.median(gaps) if gaps else None,
        gap_max=max(gaps, default=None),
        tokens_per_chunk=None if buffered or not tokens else tokens / len(timings.chunks),
        buffered=buffered,
    )


def _from_due(late: float, at: float | None) -> float | None:
    return None if at is None else late + at


def prompt_tokens(sample: Sample) -> int | None:
    """As reported; of a load stream without a report, about as many as were meant."""
    usage = sample.completion.usage if sample.completion is not None else None
    if usage is not None and usage.prompt_tokens is not None:
        return usage.prompt_tokens
    kind, _, rest = sample.item.key.partition("/")
    return int(rest.partition("/")[0]) if kind == LOAD else None


def bucket_of(tokens: int | None) -> str:
    """The bucket's name: its lower end and the first size beyond it."""
    return UNKNOWN if tokens is None else _BUCKETS[bisect_right(_EDGES, tokens)]


def _named(place: int) -> str:
    low = _EDGES[place - 1] // 1000 if place else 0
    return f"{low}k-{_EDGES[place] // 1000}k" if place < len(_EDGES) else f"{low}k-"


_BUCKETS = tuple(_named(place) for place in range(len(_EDGES) + 1))
# From the smallest prompts to the largest.
ALL_BUCKETS = (*_BUCKETS, UNKNOWN)
