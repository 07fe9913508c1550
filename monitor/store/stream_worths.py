"""The E of every endpoint at once, as each was last looked at."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from monitor.store.stream_codec import decode_endpoint
from monitor.store.stream_view_records import EndpointWorth
from monitor.store.tables import Endpoint, EndpointEpoch, EndpointLook, Model, Provider
from monitor.store.vocabulary import StreamLevel


def worths(session: Session) -> list[EndpointWorth]:
    """Every endpoint whose streams are watched, with its E as it was last looked at."""
    last = (
        select(EndpointLook.id)
        .where(EndpointLook.epoch_id == EndpointEpoch.id)
        .order_by(EndpointLook.id.desc())
        .limit(1)
        .correlate(EndpointEpoch)
        .scalar_subquery()
    )
    rows = session.execute(
        select(
            Endpoint.id,
            Provider.slug,
            Model.slug,
            Endpoint.served_name,
            EndpointLook.worth,
            EndpointLook.level,
            EndpointLook.state,
            EndpointLook.at,
        )
        .select_from(EndpointEpoch)
        .join(Endpoint, Endpoint.id == EndpointEpoch.endpoint_id)
        .join(Provider, Provider.id == Endpoint.provider_id)
        .join(Model, Model.id == Endpoint.model_id)
        .outerjoin(EndpointLook, EndpointLook.id == last)
        .where(EndpointEpoch.closed_at.is_(None))
        .order_by(Endpoint.id)
    )
    return [
        EndpointWorth(each, provider, model, served, 1.0, StreamLevel.QUIET, held=False, at=None)
        if worth is None
        else EndpointWorth(each, provider, model, served, worth, level, decode_endpoint(state).held is not None, at)
        for each, provider, model, served, worth, level, state, at in rows
    ]
