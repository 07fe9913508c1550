"""Endpoints and what belongs to them: provider, model, reference, learned capabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Row, Select, select, update
from sqlalchemy.orm import Session

from monitor.errors import StorageError
from monitor.store.changes import log_change
from monitor.store.ids import new_id
from monitor.store.once import insert_once
from monitor.store.pages import pages
from monitor.store.records import EndpointIdentity, EndpointRecord, ReferenceIdentity
from monitor.store.renames import rename_recorded
from monitor.store.tables import Endpoint, Model, Provider, Reference
from monitor.store.text import json_digest
from monitor.store.vocabulary import ChangeKind, ConfigKind


def ensure_endpoint(session: Session, identity: EndpointIdentity, at: datetime) -> EndpointRecord:
    """The endpoint of this identity, made if it is new; names, base URL and labels are brought up to date."""
    _bring_names_up_to_date(session, identity)
    provider = _ensure_provider(session, identity, at)
    insert_once(session, Model, id=new_id("mdl", at), slug=identity.model_slug, created_at=at)
    model_id = session.scalars(select(Model.id).where(Model.slug == identity.model_slug)).one()
    routing_hash = json_digest(dict(identity.routing))
    insert_once(
        session,
        Endpoint,
        id=new_id("ep", at),
        provider_id=provider.id,
        model_id=model_id,
        served_name=identity.served_name,
        routing=dict(identity.routing),
        routing_hash=routing_hash,
        labels=dict(identity.labels),
        capabilities={},
        created_at=at,
    )
    endpoint = session.scalars(
        select(Endpoint).where(
            Endpoint.provider_id == provider.id,
            Endpoint.model_id == model_id,
            Endpoint.served_name == identity.served_name,
            Endpoint.routing_hash == routing_hash,
        )
    ).one()
    if endpoint.labels != identity.labels:
        endpoint.labels = dict(identity.labels)
    if provider.base_url != identity.base_url:
        log_change(
            session,
            endpoint.id,
            ChangeKind.CONFIG,
            f"base_url changed from {provider.base_url} to {identity.base_url}",
            at,
        )
        provider.base_url = identity.base_url
    session.flush()
    return find_endpoint(session, endpoint.id)


def _bring_names_up_to_date(session: Session, identity: EndpointIdentity) -> None:
    if identity.provider_was is not None:
        rename_recorded(session, ConfigKind.PROVIDER, identity.provider_was, identity.provider_slug)
    if identity.model_was is not None:
        rename_recorded(session, ConfigKind.MODEL, identity.model_was, identity.model_slug)


def _ensure_provider(session: Session, identity: EndpointIdentity, at: datetime) -> Provider:
    slug = identity.provider_slug
    insert_once(session, Provider, id=new_id("prv", at), slug=slug, base_url=identity.base_url, created_at=at)
    return session.scalars(select(Provider).where(Provider.slug == slug)).one()


def find_endpoint(session: Session, endpoint_id: str) -> EndpointRecord:
    """Raises StorageError where there is no endpoint of this id."""
    row = session.execute(_endpoint_rows().where(Endpoint.id == endpoint_id)).one_or_none()
    if row is None:
        raise StorageError(f"There is no endpoint {endpoint_id}.", remedy="Make it with ensure_endpoint first.")
    return _endpoint_record(row)


def find_endpoints(session: Session, *, provider: str | None, model: str | None) -> list[EndpointRecord]:
    """All endpoints of a provider and model (None: of any), the oldest first."""
    query = _endpoint_rows().order_by(Endpoint.created_at, Endpoint.id)
    if provider is not None:
        query = query.where(Provider.slug == provider)
    if model is not None:
        query = query.where(Model.slug == model)
    return [_endpoint_record(row) for row in session.execute(query)]


def endpoint_records(session: Session, endpoint_ids: Sequence[str]) -> dict[str, EndpointRecord]:
    """Those of the endpoints that exist, by id."""
    return {
        row[0].id: _endpoint_record(row)
        for some in pages(endpoint_ids)
        for row in session.execute(_endpoint_rows().where(Endpoint.id.in_(some)))
    }


def provider_slugs(session: Session) -> Sequence[str]:
    return session.scalars(select(Provider.slug).order_by(Provider.slug)).all()


def save_capabilities(session: Session, endpoint_id: str, capabilities: Mapping[str, Any]) -> None:
    known = update(Endpoint).where(Endpoint.id == endpoint_id)
    changed = session.scalars(known.values(capabilities=dict(capabilities)).returning(Endpoint.id))
    if changed.one_or_none() is None:
        raise StorageError(f"There is no endpoint {endpoint_id}.", remedy="Make it with ensure_endpoint first.")


def use_reference(session: Session, endpoint_id: str, reference: ReferenceIdentity, at: datetime) -> str:
    """The id of `reference`, made if it is new. Where the endpoint was held against another one, that is logged."""
    endpoint = session.scalars(select(Endpoint).where(Endpoint.id == endpoint_id)).one()
    digest = json_digest(asdict(reference))
    insert_once(
        session,
        Reference,
        id=new_id("ref", at),
        model_id=endpoint.model_id,
        digest=digest,
        fingerprint=reference.fingerprint,
        engine=reference.engine,
        engine_version=reference.engine_version,
        profiles=list(reference.profiles),
        created_at=at,
    )
    known = select(Reference).where(Reference.model_id == endpoint.model_id, Reference.digest == digest)
    found = session.scalars(known).one()
    if endpoint.reference_id != found.id:
        if endpoint.reference_id is not None:
            before = session.scalars(select(Reference).where(Reference.id == endpoint.reference_id)).one()
            log_change(
                session, endpoint_id, ChangeKind.REFERENCE, f"reference: {_told(before)} before, {_told(found)} now", at
            )
        endpoint.reference_id = found.id
    return found.id


def _told(reference: Reference) -> str:
    return f"{reference.fingerprint} ({reference.engine} {reference.engine_version}; {', '.join(reference.profiles)})"


def _endpoint_rows() -> Select[Endpoint, Provider, str]:
    return (
        select(Endpoint, Provider, Model.slug)
        .join(Provider, Provider.id == Endpoint.provider_id)
        .join(Model, Model.id == Endpoint.model_id)
    )


def _endpoint_record(row: Row[Endpoint, Provider, str]) -> EndpointRecord:
    endpoint, provider, model = row
    return EndpointRecord(
        id=endpoint.id,
        provider=provider.slug,
        base_url=provider.base_url,
        model=model,
        served_name=endpoint.served_name,
        routing=endpoint.routing,
        labels=endpoint.labels,
        capabilities=endpoint.capabilities,
        created_at=endpoint.created_at,
    )
