"""What is monitored: providers, models, the references they are held against, and endpoints."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from monitor.store.tables.metadata import Table


class Provider(Table):
    __tablename__ = "provider"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    slug: Mapped[str] = mapped_column(String(128), unique=True)
    base_url: Mapped[str] = mapped_column(String(2048))
    created_at: Mapped[datetime]


class Model(Table):
    __tablename__ = "model"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    slug: Mapped[str] = mapped_column(String(128), unique=True)
    created_at: Mapped[datetime]


class Reference(Table):
    """`digest` is over all that tells two references apart, so that a run keeps pointing at what judged it."""

    __tablename__ = "reference"
    __table_args__ = (UniqueConstraint("model_id", "digest"),)

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    model_id: Mapped[str] = mapped_column(ForeignKey("model.id"))
    digest: Mapped[str] = mapped_column(String(64))
    fingerprint: Mapped[str] = mapped_column(String(256))
    engine: Mapped[str] = mapped_column(String(64))
    engine_version: Mapped[str] = mapped_column(String(64))
    profiles: Mapped[list[str]]
    created_at: Mapped[datetime]


class Endpoint(Table):
    """`capabilities` is what the client learned of the endpoint; `reference_id` is the last reference used."""

    __tablename__ = "endpoint"
    __table_args__ = (UniqueConstraint("provider_id", "model_id", "served_name", "routing_hash"),)

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    provider_id: Mapped[str] = mapped_column(ForeignKey("provider.id"))
    model_id: Mapped[str] = mapped_column(ForeignKey("model.id"))
    served_name: Mapped[str] = mapped_column(String(512))
    routing: Mapped[dict[str, Any]]
    routing_hash: Mapped[str] = mapped_column(String(64))
    labels: Mapped[dict[str, Any]]
    capabilities: Mapped[dict[str, Any]]
    reference_id: Mapped[str | None] = mapped_column(ForeignKey("reference.id"))
    created_at: Mapped[datetime]
