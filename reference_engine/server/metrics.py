"""One server's numbers in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from reference_engine.figures import Figures, Instrumented
from reference_engine.server.served import ServedModel

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_GAUGES = {
    "waiting": "Sequences that wait in the engine, for their turn or for memory.",
    "running": "Sequences that run in the engine's batch.",
}
_TOTALS = {
    "preemptions": "Sequences that had to give their memory to others and were computed again.",
    "cached_tokens": "Tokens found in the prefix cache.",
    "drafted_tokens": "Tokens that were proposed ahead.",
    "accepted_tokens": "Tokens proposed ahead that proved right.",
}


class Metrics:
    """Labels are routes and statuses, never anything of a request's body."""

    def __init__(self, served: ServedModel) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Collected(served))
        self.requests = Counter(
            "reference_engine_requests", "Requests that were answered.", ("route", "status"), registry=self._registry
        )
        self.first_token = self._histogram("time_to_first_token", "From a request to the first event of its stream.")
        self.duration = self._histogram("request_duration", "From a request to the end of its answer.")

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def _histogram(self, name: str, what: str) -> Histogram:
        name = f"reference_engine_{name}_seconds"
        return Histogram(name, what, ("route",), registry=self._registry, buckets=_SECONDS)


class _Collected(Collector):
    """What is counted anyway, read when it is asked for."""

    def __init__(self, served: ServedModel) -> None:
        self._served = served

    def collect(self) -> Iterator[Metric]:
        served = self._served
        yield _gauge("requests_active", "Requests that are being answered.", served.turns.active)
        yield _gauge("requests_waiting", "Requests that wait for a place.", served.turns.waiting)
        yield _gauge("draining", "1 while the server stops.", served.turns.draining)
        yield _total("prompt_tokens", "Tokens of the prompts that were read.", served.tally.prompt_tokens)
        yield _total("generated_tokens", "Tokens that were generated.", served.tally.generated_tokens)
        if isinstance(served.engine, Instrumented):
            yield from _of_engine(served.engine.figures())


def _of_engine(figures: Figures) -> Iterator[Metric]:
    for name, count in figures.counts.items():
        if name in _GAUGES:
            yield _gauge(f"sequences_{name}", _GAUGES[name], count)
        elif name in _TOTALS:
            yield _total(name, _TOTALS[name], count)
    yield _total("recorded_positions", "Positions answered from recorded scores.", figures.recorded_positions)
    yield _total("passes", "Forward passes.", figures.passes)
    yield _total("rows", "Tokens that ran in forward passes.", figures.rows)
    yield _gauge("kv_bytes", "Memory for keys, values and recorded scores.", figures.kv_bytes)
    yield _gauge("kv_bytes_used", "What of it is in use, or kept for the next request.", figures.kv_bytes_used)


def _gauge(name: str, what: str, value: float) -> Metric:
    return GaugeMetricFamily(f"reference_engine_{name}", what, value=value)


def _total(name: str, what: str, value: float) -> Metric:
    return CounterMetricFamily(f"reference_engine_{name}", what, value=value)
