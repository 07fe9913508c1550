"""The latency probe: how soon a stream begins and how fast it runs, by the definitions of the field.

All times are seconds after the request left. A value that cannot be known is None, never 0: of a stream that was
buffered, of one token, of an endpoint that sends no usage. The client sends these streams one after another: each
leaves when the one before has ended, which with a handful of streams measures an idle client's view and nothing of
how the provider bears load.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import NamedTuple

from probes import grammar
from probes.completion import Timings
from probes.grammar import GRAMMAR_SHA256, GRAMMAR_VERSION
from probes.plan import Item, Plan, ProbeKind
from probes.wire.timeline import is_burst


def plan(seed: bytes, run_nonce: bytes, *, streams: int = 8, max_tokens: int = 32) -> Plan:
    """Streams over single-use prompts with long answers, so that neither a cache nor an early end shortens them."""
    prompts = grammar.long_answers(seed, run_nonce, streams)
    items = tuple(
        Item(
            f"latency-{prompt.sha256[:12]}",
            0,
            {
                "messages": [dict(message) for message in prompt.messages],
                "max_tokens": max_tokens,
                "temperature": 0,
                "stream": True,
                "stream_options": {"include_usage": True},
            },
        )
        for prompt in prompts
    )
    suite = hashlib.sha256(f"{GRAMMAR_VERSION}\n{GRAMMAR_SHA256}\n{max_tokens}".encode()).hexdigest()
    return Plan(ProbeKind.LATENCY, items, suite, GRAMMAR_VERSION)


def tpot(timings: Timings, tokens: int | None) -> float | None:
    """Seconds per output token after the first chunk: (last − first output) / (N − n_first).

    N is `tokens`, by usage: a chunk is not a token. n_first is the number of tokens in the first chunk, 1 where it is
    not known.
    """
    if tokens is None or timings.first_output is None or timings.last_output is None or is_buffered(timings):
        return None
    later = tokens - (timings.first_output_tokens or 1)
    return (timings.last_output - timings.first_output) / later if later > 0 else None


def is_buffered(timings: Timings) -> bool:
    """Whether the output was held back and came at once, so that its timing tells nothing of its making.

    So it is where it came in one event, or where nearly all of its chunks came in a burst.
    """
    return len(timings.chunks) <= 1 or is_burst([(at, 1) for at in timings.chunks])


class Percentile(NamedTuple):
    """`lo` and `hi` are each a bound of the wanted confidence on its own (both hold with twice that, less one)."""

    estimate: float | None
    lo: float | None
    hi: float | None


def percentile_interval(values: Sequence[float], q: float, confidence: float = 0.95) -> Percentile:
    """The q-quantile of what `values` were drawn from, bounded by order statistics: no shape is assumed.

    P(X₍ₗ₎ ≤ ξ) = P(Bin(n, q) ≥ l) and P(X₍ᵤ₎ ≥ ξ) ≥ P(Bin(n, q) ≤ u − 1) for the quantile ξ; `lo` is the largest,
    `hi` the smallest order statistic for which that is at least `confidence`, None where none is: a 95 % upper bound of
    p95 needs 59 values, of p99 299. The estimate is the ⌈nq⌉-th value, None where fewer than one value is expected
    beyond it on either side: p95 needs 20 values, p99 100.
    """
    ordered = sorted(values)
    n = len(ordered)
    estimate = ordered[math.ceil(n * q) - 1] if n and n * min(q, 1 - q) >= 1 - 1e-9 else None
    if n == 0:
        return Percentile(None, None, None)
    low, high = _binomial_quantile(1 - confidence, n, q), _binomial_quantile(confidence, n, q) + 1
    return Percentile(estimate, ordered[low - 1] if low >= 1 else None, ordered[high - 1] if high <= n else None)


def _binomial_quantile(p: float, n: int, q: float) -> int:
    """The smallest k with P(Bin(n, q) ≤ k) ≥ p."""
    # Here: a web process that names a load has no use for either; scipy.stats takes 45 MB of every worker.
    import numpy as np
    from scipy.special import bdtr

    return int(np.searchsorted(bdtr(np.arange(n + 1), n, q), p))
