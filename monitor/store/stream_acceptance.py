"""A person accepts what an endpoint is now: its streams go on from the rounds since it changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy.orm import Session

from monitor.drift.decision import Event, Level
from monitor.drift.endpoint_streams import EndpointStreams
from monitor.store import stream_epochs
from monitor.store.baselines import hold
from monitor.store.records import BaselineRecord
from monitor.store.stream_views import OpenEpoch


@dataclass(frozen=True, slots=True)
class AcceptedEpoch:
    """`closed` is the number of the epoch that was accepted; the baseline of the next one begins at `since` and holds
    `rounds`."""

    closed: int
    since: datetime
    rounds: int
    opened: EndpointStreams


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The baselines that were opened; and the epoch, where the streams had seen a change."""

    baselines: list[BaselineRecord]
    epoch: AcceptedEpoch | None


def accept_epoch(session: Session, endpoint_id: str, *, note: str, actor: str, at: datetime) -> AcceptedEpoch | None:
    """Close the open epoch and open the next one, with the rounds since the change as its baseline. None where no epoch
    is open, or its streams have seen no change: then their levels stay, and what they won."""
    hold(session, endpoint_id)
    found = OpenEpoch.of(session, endpoint_id)
    if found is None:
        return None
    since = _changed_since(found)
    if since is None:
        return None
    baselines = stream_epochs.rounds(session, endpoint_id, since)
    opened = stream_epochs.accept(session, endpoint_id, baselines, note=note, actor=actor, at=at)
    count = sum(len(baselines.get(key, ())) for key in opened.streams)
    return AcceptedEpoch(found.epoch.number, datetime.fromtimestamp(since, UTC), count, opened)


def _changed_since(found: OpenEpoch) -> float | None:
    """The end of the onset's interval, so that no round from before the change is among the new ones. Where no stream
    tells when, since the endpoint was first shown; None where it is not."""
    onset = found.onset()
    if onset is not None:
        return onset.until
    if found.now.state.level is Level.QUIET:
        return None
    since = None
    for look in found.news:
        if Event.QUIETED.value in look.events:
            since = None
        elif since is None:
            since = look.at.timestamp()
    return since
