"""Notices on their way: what each channel's group was told last, and every delivery with its tries."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from monitor.store.columns import BIG_KEY, word
from monitor.store.tables.metadata import Table
from monitor.store.vocabulary import DeliveryStatus

_OPEN = text("status in ('pending', 'leased')")


class NotifyGroup(Table):
    """The alerts of one route and group as one channel knows them.

    `members` are the ids of its alerts that are not over, or whose end is still to be told. `told_firing` are those
    that were announced and not yet ended, as `ID@SEVERITY` with the severity that was announced, and as
    `ID@SEVERITY@flapping` where they were last said to flap; `told_resolved` are those that the last notice ended.
    `due_at` is when the next notice has to be decided, None while there is nothing to decide.
    """

    __tablename__ = "notify_group"
    __table_args__ = (
        Index(
            "ix_notify_group_due",
            "due_at",
            sqlite_where=text("due_at is not null"),
            postgresql_where=text("due_at is not null"),
        ),
    )

    channel: Mapped[str] = mapped_column(String(128), primary_key=True)
    route: Mapped[str] = mapped_column(String(128), primary_key=True)
    group_key: Mapped[str] = mapped_column(String(512), primary_key=True)
    labels: Mapped[dict[str, Any]]
    members: Mapped[list[str]]
    told_firing: Mapped[list[str]]
    told_resolved: Mapped[list[str]]
    told_at: Mapped[datetime | None]
    opened_at: Mapped[datetime]
    due_at: Mapped[datetime | None]


class Delivery(Table):
    """One message to one channel. `id` is the receiver's idempotency key, the same on every try. `body` is sent as it
    is, byte for byte. Within a channel and group, `seq` is the order, and only the first open one may be sent."""

    __tablename__ = "delivery"
    __table_args__ = (
        UniqueConstraint("channel", "group_key", "seq"),
        Index(None, "channel", "created_at"),
        Index("ix_delivery_open", "next_attempt_at", sqlite_where=_OPEN, postgresql_where=_OPEN),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    channel: Mapped[str] = mapped_column(String(128))
    type: Mapped[str] = mapped_column(String(64))
    group_key: Mapped[str] = mapped_column(String(512))
    seq: Mapped[int]
    alert_ids: Mapped[list[str]]
    body: Mapped[bytes] = mapped_column(LargeBinary)
    content_type: Mapped[str] = mapped_column(String(128))
    status: Mapped[DeliveryStatus] = mapped_column(word(DeliveryStatus, "status"))
    attempts: Mapped[int]
    next_attempt_at: Mapped[datetime]
    lease_owner: Mapped[str | None] = mapped_column(String(320))
    lease_until: Mapped[datetime | None]
    error: Mapped[str | None] = mapped_column(String(512))
    created_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]


class DeliveryAttempt(Table):
    """One try. `response` is the first 2 kB of the answer, redacted."""

    __tablename__ = "delivery_attempt"
    __table_args__ = (Index(None, "delivery_id"),)

    id: Mapped[int] = mapped_column(BIG_KEY, primary_key=True)
    delivery_id: Mapped[str] = mapped_column(ForeignKey("delivery.id", ondelete="CASCADE"))
    at: Mapped[datetime]
    http_status: Mapped[int | None]
    error: Mapped[str | None] = mapped_column(String(512))
    milliseconds: Mapped[float]
    response: Mapped[str | None] = mapped_column(Text)


class ChannelHealth(Table):
    """How a channel fares: failed tries in a row, since when it may be tried again, and why it is off if it is."""

    __tablename__ = "channel_health"

    channel: Mapped[str] = mapped_column(String(128), primary_key=True)
    failures: Mapped[int]
    throttled_until: Mapped[datetime | None]
    disabled_at: Mapped[datetime | None]
    reason: Mapped[str | None] = mapped_column(String(512))
    ok_at: Mapped[datetime | None]
