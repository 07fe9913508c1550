"""An endpoint in drift whose new regime has settled goes on from it: by itself, and without a word to its alert."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from monitor.drift.endpoint_streams import EndpointStreams
from monitor.drift.settling import Settled
from monitor.drift.settling import settled as settled_to
from monitor.store.baselines import hold
from monitor.store.changes import log_change
from monitor.store.endpoints import find_endpoint
from monitor.store.stream_epochs import plan_of, rounds, turn
from monitor.store.stream_recorded import current
from monitor.store.stream_rows import open_epoch_or_none
from monitor.store.tables import EndpointEpoch, EndpointLook
from monitor.store.vocabulary import ChangeKind, EpochEnd, StreamLevel


def settle(session: Session, endpoint_id: str, at: datetime) -> EndpointStreams | None:
    """Open the next epoch of an endpoint in drift with what came since as its baseline, where that is a steady regime
    of 72 hours (`monitor.drift.settling`); None where it is not, where no epoch is open, or none is in drift: so too
    when it is asked again.

    The change stays in the list of changes, and an alert stays as it is: that is for a person to end. Raises
    StorageError where there is no such endpoint.
    """
    find_endpoint(session, endpoint_id)
    hold(session, endpoint_id)
    epoch = open_epoch_or_none(session, endpoint_id)
    drifted_at = None if epoch is None else _drifted_at(session, epoch)
    if epoch is None or drifted_at is None:
        return None
    now, since = current(session, epoch), epoch.opened_at.timestamp()
    found = settled_to(now, rounds(session, endpoint_id, since), drifted_at.timestamp(), at.timestamp())
    if found is None or _our_side_moved(session, epoch, found.since):
        return None
    opened = turn(session, endpoint_id, EpochEnd.SETTLED, plan_of(session, endpoint_id), found.baselines, at)
    epoch.note = _said(found, drifted_at)
    log_change(session, endpoint_id, ChangeKind.BASELINE, f"epoch {epoch.number} closed: {epoch.note}", at)
    session.flush()
    return opened


def waits_for_a_person(session: Session, endpoint_id: str) -> bool:
    """Whether the open epoch goes on from a drift that has settled and that nobody has accepted since: what was said of
    it is not taken back."""
    ended = select(EndpointEpoch.why).where(
        EndpointEpoch.endpoint_id == endpoint_id, EndpointEpoch.why.in_((EpochEnd.SETTLED, EpochEnd.ACCEPTED))
    )
    return session.scalars(ended.order_by(EndpointEpoch.number.desc()).limit(1)).one_or_none() is EpochEnd.SETTLED


def _drifted_at(session: Session, epoch: EndpointEpoch) -> datetime | None:
    """The look that said drift, which stays for the epoch."""
    said = select(EndpointLook.at).where(EndpointLook.epoch_id == epoch.id, EndpointLook.level == StreamLevel.DRIFT)
    return session.scalars(said.order_by(EndpointLook.id).limit(1)).one_or_none()


def _our_side_moved(session: Session, epoch: EndpointEpoch, since: float) -> bool:
    """While our side moves, rounds tell nothing of the endpoint."""
    moved = exists().where(
        EndpointLook.epoch_id == epoch.id,
        EndpointLook.our_side.is_not(None),
        EndpointLook.at >= datetime.fromtimestamp(since, UTC),
    )
    return bool(session.scalar(select(moved)))


def _said(found: Settled, drifted_at: datetime) -> str:
    since = datetime.fromtimestamp(found.since, UTC)
    hours = (found.until - found.since) / 3_600.0
    streams = ", ".join(
        f"{len(given)} rounds of {key.tier.value} {key.probe_set}" for key, given in sorted(found.baselines.items())
    )
    return (
        f"it drifted ({drifted_at:%Y-%m-%d %H:%M} UTC), and what came since {since:%Y-%m-%d %H:%M} UTC is steady and "
        f"the baseline from now on: {hours:.0f} hours, {streams}"
    )
