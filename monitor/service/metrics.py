"""The service's numbers in Prometheus' text format, each read from the database."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from threading import Lock

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from monitor import clock
from monitor.drift.rule import Verdict
from monitor.store.figures import Figures, Standing

MICRO = 1_000_000
# However many ask, the database is asked no more often.
KEPT_S = 10.0

_CHECK = ("provider", "model", "check")


class Metrics:
    """The text of one database."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self._lock = Lock()
        self._kept: tuple[float, bytes] | None = None

    def text(self) -> bytes:
        with self._lock:
            now = clock.monotonic()
            if self._kept is None or now - self._kept[0] >= KEPT_S:
                at = clock.now()
                self._kept = (now, exposition(self._standing.figures(at), at))
            return self._kept[1]


def exposition(figures: Figures, at: datetime) -> bytes:
    registry = CollectorRegistry()
    registry.register(_Collected(figures, at))
    return generate_latest(registry)


class _Collected(Collector):
    def __init__(self, figures: Figures, at: datetime) -> None:
        self._figures = figures
        self._at = at

    def collect(self) -> Iterator[Metric]:
        yield from _checks(self._figures)
        yield from _service(self._figures, self._at)
        yield from _totals(self._figures)


def _checks(figures: Figures) -> Iterator[Metric]:
    value = GaugeMetricFamily("monitor_check_value", "What was measured last of an endpoint.", labels=_CHECK)
    state = GaugeMetricFamily(
        "monitor_check_state", "1 for the last verdict, 0 for the others.", labels=(*_CHECK, "state")
    )
    for check in figures.checks:
        labels = (check.provider, check.model, check.metric)
        if check.value is not None:
            value.add_metric(labels, check.value)
        for verdict in Verdict:
            state.add_metric((*labels, verdict.value), float(check.verdict is verdict))
    yield value
    yield state


def _service(figures: Figures, at: datetime) -> Iterator[Metric]:
    alerts = GaugeMetricFamily("monitor_alerts", "Alerts that are not resolved.", labels=("state", "severity"))
    for (state, severity), count in figures.alerts.items():
        alerts.add_metric((state.value, severity.value), count)
    yield alerts
    ages = GaugeMetricFamily(
        "monitor_run_age_seconds", "Since an endpoint was last judged.", labels=("provider", "model")
    )
    for (provider, model), judged_at in figures.judged_at.items():
        ages.add_metric((provider, model), _seconds(judged_at, at))
    yield ages
    oldest = GaugeMetricFamily("monitor_queue_oldest_seconds", "How long the oldest has waited.", labels=("queue",))
    for queue, waiting in figures.queues.items():
        oldest.add_metric((queue,), 0.0 if waiting.oldest is None else _seconds(waiting.oldest, at))
    yield oldest
    progress = GaugeMetricFamily("monitor_worker_last_progress_seconds", "Since any worker last finished some work.")
    if figures.progress_at is not None:
        progress.add_metric((), _seconds(figures.progress_at, at))
    yield progress
    yield GaugeMetricFamily(
        "monitor_delivery_pending", "Messages that have not arrived yet.", value=figures.deliveries_pending
    )


def _totals(figures: Figures) -> Iterator[Metric]:
    cost = CounterMetricFamily("monitor_cost_usd", "What the checks of a provider cost.", labels=("provider",))
    for provider, microusd in figures.cost_microusd.items():
        cost.add_metric((provider,), microusd / MICRO)
    yield cost
    yield GaugeMetricFamily("monitor_db_bytes", "What the database takes on the disk.", value=figures.database_bytes)


def _seconds(since: datetime, at: datetime) -> float:
    return max(0.0, (at - since).total_seconds())
