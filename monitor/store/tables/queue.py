"""What is to be done, and by whom it is being done: the queue of record, limits, spending, and signs of life."""

from datetime import date, datetime
from typing import Any

from sqlalchemy import BigInteger, Date, ForeignKey, Index, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from monitor.drift.rule import Verdict
from monitor.store.columns import Json, word
from monitor.store.tables.metadata import Table
from monitor.store.vocabulary import RunStatus, Trigger

_OPEN = text("status in ('queued', 'leased', 'running')")


class EndpointCheck(Table):
    """One check of one endpoint at one slot; its runs share `check_id`. The row is the queue entry: whoever holds the
    lease with the current `attempt` may write, nobody else.

    `lease_until` is None while queued, and for a check in a caller's own process, which nobody takes over. `nonce`
    makes the single-use prompts, so that a resumed check asks the same ones. `confirms` is the check whose drift this
    one repeats on fresh prompts. `rung_at` is when the bell was last rung for it.
    """

    __tablename__ = "endpoint_check"
    __table_args__ = (
        UniqueConstraint("idempotency_key"),
        Index(None, "endpoint_id", "queued_at"),
        Index(None, "schedule", "endpoint_id", "slot_at"),
        Index("ix_endpoint_check_open", "queued_at", sqlite_where=_OPEN, postgresql_where=_OPEN),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    idempotency_key: Mapped[str] = mapped_column(String(320))
    endpoint_id: Mapped[str] = mapped_column(ForeignKey("endpoint.id"))
    trigger: Mapped[Trigger] = mapped_column(word(Trigger, "trigger"))
    schedule: Mapped[str | None] = mapped_column(String(128))
    confirms: Mapped[str | None] = mapped_column(ForeignKey("endpoint_check.id"))
    options: Mapped[dict[str, Any]]
    nonce: Mapped[str] = mapped_column(String(64))
    status: Mapped[RunStatus] = mapped_column(word(RunStatus, "status"))
    attempt: Mapped[int]
    lease_owner: Mapped[str | None] = mapped_column(String(320))
    lease_until: Mapped[datetime | None]
    rung_at: Mapped[datetime | None]
    done: Mapped[int]
    planned: Mapped[int]
    verdict: Mapped[Verdict | None] = mapped_column(word(Verdict, "verdict"))
    enrolled: Mapped[bool]
    error_code: Mapped[str | None] = mapped_column(String(64))
    error: Mapped[str | None] = mapped_column(String(2048))
    slot_at: Mapped[datetime]
    deadline: Mapped[datetime | None]
    queued_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]


class TokenBucket(Table):
    """What is left of a provider's (or channel's) rate: `tokens` at `at`, refilled by the clock when it is read."""

    __tablename__ = "token_bucket"

    name: Mapped[str] = mapped_column(String(160), primary_key=True)
    tokens: Mapped[float]
    at: Mapped[datetime]


class Spending(Table):
    """What a provider cost on one day (UTC): settled from answers, and reserved by checks that are still asking."""

    __tablename__ = "spending"

    provider: Mapped[str] = mapped_column(String(128), primary_key=True)
    day: Mapped[date] = mapped_column(Date, primary_key=True)
    settled_microusd: Mapped[int] = mapped_column(BigInteger)
    reserved_microusd: Mapped[int] = mapped_column(BigInteger)


class Reservation(Table):
    """What one check may still spend of its provider's day; gone once it is settled."""

    __tablename__ = "reservation"

    check_id: Mapped[str] = mapped_column(ForeignKey("endpoint_check.id"), primary_key=True)
    provider: Mapped[str] = mapped_column(String(128))
    day: Mapped[date] = mapped_column(Date)
    microusd: Mapped[int] = mapped_column(BigInteger)


class WorkerBeat(Table):
    """A process of the service and when it last finished work: alive means "did work", not "answers a ping"."""

    __tablename__ = "worker_beat"

    name: Mapped[str] = mapped_column(String(320), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16))
    queues: Mapped[list[str]]
    version: Mapped[str] = mapped_column(String(128))
    started_at: Mapped[datetime]
    seen_at: Mapped[datetime]
    progress_at: Mapped[datetime]


class Setting(Table):
    """One fact about the installation as a whole, such as when the last tick ran."""

    __tablename__ = "setting"

    key: Mapped[str] = mapped_column(String(128), primary_key=True)
    value: Mapped[Any] = mapped_column(Json)
    updated_at: Mapped[datetime]
