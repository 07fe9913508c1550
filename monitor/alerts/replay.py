"""What a rule would have sent: the machine, run again over signals of the past."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from monitor.alerts.core import AlertCore
from monitor.alerts.events import Event, EventKind
from monitor.alerts.rule import AlertRule, Watch
from monitor.alerts.signals import Failed, Measured, Tick, Verdicted
from monitor.alerts.step import step
from monitor.config.matching import matches


@dataclass(frozen=True, slots=True)
class Episode:
    """One alert that there would have been. `metric` is empty where the rule is about the endpoint as a whole."""

    metric: str
    events: tuple[Event, ...]

    @property
    def notices(self) -> tuple[Event, ...]:
        return tuple(event for event in self.events if event.notice)

    @property
    def fired(self) -> bool:
        return any(event.kind is EventKind.FIRED for event in self.events)


def replay(
    signals: Iterable[Verdicted | Failed], rule: AlertRule, labels: Mapping[str, str], until: datetime
) -> list[Episode]:
    """The episodes of one endpoint under one rule, in the order in which they began. `signals` are in order of time;
    ticks between them are made up where the rule is about silence."""
    cores: dict[str, AlertCore | None] = {}
    episodes: dict[str, list[list[Event]]] = {}
    for signal in _ticking(signals, rule, until) if rule.watches is Watch.NO_DATA else signals:
        metric = metric_of(signal, rule)
        if not matches(rule.match, finding_labels(labels, metric)):
            continue
        stepped = step(cores.get(metric), signal, rule)
        cores[metric] = stepped.core
        if stepped.opened:
            episodes.setdefault(metric, []).append([])
        if stepped.events:
            episodes[metric][-1].extend(stepped.events)
    found = [Episode(metric, tuple(events)) for metric, several in episodes.items() for events in several]
    return sorted(found, key=lambda episode: episode.events[0].at)


def metric_of(signal: Measured, rule: AlertRule) -> str:
    """The metric of an alert that the signal could be about."""
    return signal.metric if isinstance(signal, Verdicted) and rule.watches is Watch.DRIFT else ""


def finding_labels(labels: Mapping[str, str], metric: str) -> dict[str, str]:
    """The labels by which a rule is chosen: the endpoint's, and what was measured (of a probe of that name)."""
    return {**labels, "metric": metric, "probe": metric} if metric else dict(labels)


def _ticking(signals: Iterable[Verdicted | Failed], rule: AlertRule, until: datetime) -> Iterator[Measured]:
    """The signals, and a tick wherever the silence before one has become long enough to be told."""
    heard: datetime | None = None
    for signal in signals:
        if heard is not None and signal.at - heard > rule.no_data_after * rule.every:
            yield Tick(heard + rule.no_data_after * rule.every, heard)
        yield signal
        if isinstance(signal, Verdicted):
            heard = signal.at
    if heard is not None and until - heard > rule.no_data_after * rule.every:
        yield Tick(heard + rule.no_data_after * rule.every, heard)
