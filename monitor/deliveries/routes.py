"""Which channels hear of an alert or an event, and in which group: the configuration's routes, read."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from monitor.alerts.states import Severity
from monitor.config.matching import matches
from monitor.deliveries.facts import AlertFacts
from monitor.deliveries.group import Timing
from monitor.deliveries.notice import USUAL_EVENTS, NoticeType

if TYPE_CHECKING:
    from monitor.config.schema import ConfigFile
    from monitor.config.service import Channel, Route

KEY_CHARS = 400


@dataclass(frozen=True, slots=True)
class Target:
    """A group of one channel that an alert belongs to."""

    channel: str
    route: str
    group_key: str
    labels: Mapping[str, str]
    timing: Timing


@dataclass(frozen=True, slots=True)
class Routes:
    """The channels and routes that are in force. Without any route, everything goes to every channel."""

    channels: Mapping[str, Channel]
    routes: Sequence[Route]

    @classmethod
    def of(cls, file: ConfigFile) -> Routes:
        channels = {channel.id: channel for channel in file.channels}
        return cls(channels, file.routes or _to_everyone(channels))

    def targets(self, labels: Mapping[str, str], severity: Severity) -> list[Target]:
        """The groups of an alert: one a channel, by the first route that leads there."""
        labels = {**labels, "severity": severity.value}
        found: dict[str, Target] = {}
        for route in self._matching(labels):
            if severity.rank < Severity(route.min_severity).rank:
                continue
            for channel in route.to:
                if channel in self.channels:
                    found.setdefault(channel, _target(route, channel, labels))
        return list(found.values())

    def target(self, alert: AlertFacts, channel: str) -> Target | None:
        """An alert's group of one channel; None where no route leads there."""
        found = self.targets(alert.labels, alert.severity)
        return next((target for target in found if target.channel == channel), None)

    def listeners(self, event: NoticeType, labels: Mapping[str, str]) -> list[str]:
        """The channels that hear of an event: those its labels are routed to, or all where it concerns no endpoint.

        That a channel is failing is told by the others.
        """
        if "endpoint" in labels or "provider" in labels:
            ids: Iterable[str] = dict.fromkeys(channel for route in self._matching(labels) for channel in route.to)
        else:
            ids = self.channels
        failing = labels.get("channel") if event is NoticeType.DEGRADED else None
        return [channel for channel in ids if channel != failing and self.hears(channel, event)]

    def hears(self, channel: str, event: NoticeType) -> bool:
        return channel in self.channels and event in self.heard(channel)

    def heard(self, channel: str) -> Collection[NoticeType]:
        """What a channel hears of."""
        events = self.channels[channel].events
        return USUAL_EVENTS if events is None else [NoticeType(event) for event in events]

    def timing(self, route: str) -> Timing:
        """The usual one for a route that is no longer there."""
        return _timing(next((entry for entry in self.routes if entry.id == route), None) or _usual_route(route))

    def _matching(self, labels: Mapping[str, str]) -> list[Route]:
        return [route for route in self.routes if matches(route.match, labels)]


def _to_everyone(channels: Mapping[str, Channel]) -> tuple[Route, ...]:
    return (_usual_route("default", *channels),) if channels else ()


def _usual_route(name: str, *channels: str) -> Route:
    from monitor.config.service import Route

    return Route.model_construct(id=name, to=channels)


def _target(route: Route, channel: str, labels: Mapping[str, str]) -> Target:
    grouped = {name: labels.get(name, "") for name in route.group_by}
    return Target(channel, route.id, _key(grouped), grouped, _timing(route))


def _timing(route: Route) -> Timing:
    return Timing(
        timedelta(seconds=route.group_wait), timedelta(seconds=route.group_interval), timedelta(seconds=route.repeat)
    )


def _key(labels: Mapping[str, str]) -> str:
    """`provider=acme,tier=prod`; a longer one than a column holds ends in its digest."""
    key = ",".join(f"{name}={value}" for name, value in labels.items())
    if len(key) <= KEY_CHARS:
        return key
    return f"{key[:KEY_CHARS]}~{hashlib.sha256(key.encode()).hexdigest()[:16]}"
