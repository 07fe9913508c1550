"""What many rounds add up to: an endpoint's epochs, its streams, their evidence in the order it was added, and looks.

Streams, epochs, evidence, baselines of epochs and the inputs of looks are facts and kept for good. What was computed of
them (`stream_state`, and the columns that say so) can be computed anew at any time, bit for bit.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from monitor.drift.begun import Begun
from monitor.store.columns import BIG_KEY, Json, word
from monitor.store.tables.metadata import Table
from monitor.store.vocabulary import EpochEnd, LookKind, StreamLevel, StreamTier

_OPEN = text("closed_at IS NULL")


class Stream(Table):
    """One endpoint, one tier, one version of what is asked."""

    __tablename__ = "stream"
    __table_args__ = (UniqueConstraint("endpoint_id", "tier", "probe_set"),)

    id: Mapped[int] = mapped_column(BIG_KEY, primary_key=True)
    endpoint_id: Mapped[str] = mapped_column(ForeignKey("endpoint.id"))
    tier: Mapped[StreamTier] = mapped_column(word(StreamTier, "tier"))
    probe_set: Mapped[str] = mapped_column(String(128))
    created_at: Mapped[datetime]


class EndpointEpoch(Table):
    """One at a time is open. `stack` is the digest of our engine, its libraries and the detectors; `escalation` lists
    the streams that an escalation asks, with their rules; `enrolment_id` is what was open when it began, so that
    log-probabilities are scored against it."""

    __tablename__ = "endpoint_epoch"
    __table_args__ = (
        UniqueConstraint("endpoint_id", "number"),
        Index("uq_endpoint_epoch_open", "endpoint_id", unique=True, sqlite_where=_OPEN, postgresql_where=_OPEN),
    )

    id: Mapped[int] = mapped_column(BIG_KEY, primary_key=True)
    endpoint_id: Mapped[str] = mapped_column(ForeignKey("endpoint.id"))
    number: Mapped[int]
    stack: Mapped[str] = mapped_column(String(128))
    escalation: Mapped[list[Any]] = mapped_column(Json)
    enrolment_id: Mapped[int | None] = mapped_column(BIG_KEY, ForeignKey("enrolment.id"))
    opened_at: Mapped[datetime]
    closed_at: Mapped[datetime | None]
    why: Mapped[EpochEnd | None] = mapped_column(word(EpochEnd, "why"))
    note: Mapped[str | None] = mapped_column(Text)
    closed_by: Mapped[str | None] = mapped_column(String(128))


class StreamEpoch(Table):
    """A stream within an epoch of its endpoint, or (`escalation` counts from 1) within an escalation of that epoch.
    `baseline` holds the rounds that it was begun with, `first_baseline` the first ones for ever as a new stack of ours
    scores them, both packed (monitor/store/stream_codec.py). Computed: `against_first`, how far what it was begun with
    is from the first ones (monitor/store/stream_first.py)."""

    __tablename__ = "stream_epoch"
    __table_args__ = (UniqueConstraint("stream_id", "epoch_id", "escalation"), Index(None, "epoch_id"))

    id: Mapped[int] = mapped_column(BIG_KEY, primary_key=True)
    stream_id: Mapped[int] = mapped_column(BIG_KEY, ForeignKey("stream.id"))
    epoch_id: Mapped[int] = mapped_column(BIG_KEY, ForeignKey("endpoint_epoch.id"))
    escalation: Mapped[int]
    begun: Mapped[Begun] = mapped_column(word(Begun, "begun"))
    rule: Mapped[dict[str, Any]]
    baseline: Mapped[bytes | None] = mapped_column(LargeBinary)
    first_baseline: Mapped[bytes | None] = mapped_column(LargeBinary)
    against_first: Mapped[str | None] = mapped_column(Text)
    opened_at: Mapped[datetime]
    closed_at: Mapped[datetime | None]


class Enrolment(Table):
    """What the rounds of an endpoint's streams are scored against, as JSON in `body`: by `tier`, what its
    log-probabilities were (monitor/drift/whitened_scores.py), or its border inputs (monitor/drift/border_scores.py).
    One a tier is open at a time; `run_id` is the run that made it, `suite_version` that of its prompts."""

    __tablename__ = "enrolment"
    __table_args__ = (
        Index("uq_enrolment_open", "endpoint_id", "tier", unique=True, sqlite_where=_OPEN, postgresql_where=_OPEN),
    )

    id: Mapped[int] = mapped_column(BIG_KEY, primary_key=True)
    endpoint_id: Mapped[str] = mapped_column(ForeignKey("endpoint.id"))
    tier: Mapped[StreamTier] = mapped_column(word(StreamTier, "tier"))
    run_id: Mapped[str] = mapped_column(ForeignKey("run.id"))
    suite_version: Mapped[str] = mapped_column(String(128))
    body: Mapped[str] = mapped_column(Text)
    made_at: Mapped[datetime]
    closed_at: Mapped[datetime | None]


class StreamState(Table):
    """What a stream came to in an epoch: the state after the evidence of `sequence` (0: none yet), in the form of
    `version`. It stays when the epoch is closed, as the next one goes on from it."""

    __tablename__ = "stream_state"

    stream_epoch_id: Mapped[int] = mapped_column(
        BIG_KEY, ForeignKey("stream_epoch.id"), primary_key=True, autoincrement=False
    )
    version: Mapped[int]
    sequence: Mapped[int] = mapped_column(BigInteger)
    state: Mapped[str] = mapped_column(Text)


class StreamEvidence(Table):
    """What one run said of one stream; `sequence` is the order in which an endpoint's evidence was added. `at` is in
    seconds since 1970, exact. Computed of it: the stream's `value` afterwards, and the digest of its state."""

    __tablename__ = "stream_evidence"
    __table_args__ = (
        UniqueConstraint("endpoint_id", "sequence"),
        UniqueConstraint("run_id", "stream_id"),
        Index(None, "stream_epoch_id", "sequence"),
    )

    id: Mapped[int] = mapped_column(BIG_KEY, primary_key=True)
    endpoint_id: Mapped[str] = mapped_column(ForeignKey("endpoint.id"))
    sequence: Mapped[int] = mapped_column(BigInteger)
    stream_id: Mapped[int] = mapped_column(BIG_KEY, ForeignKey("stream.id"))
    stream_epoch_id: Mapped[int] = mapped_column(BIG_KEY, ForeignKey("stream_epoch.id"))
    run_id: Mapped[str] = mapped_column(ForeignKey("run.id"))
    at: Mapped[float]
    says: Mapped[dict[str, Any]]
    n: Mapped[int]
    tokens: Mapped[int] = mapped_column(BigInteger)
    reasons: Mapped[list[str]]
    added_at: Mapped[datetime]
    value: Mapped[float]
    state_sha256: Mapped[str] = mapped_column(String(64))


class EndpointLook(Table):
    """A look at an endpoint after the evidence of `sequence`, or the closing of an escalation. Facts: `kind`, `at`,
    `our_side`. Computed: the rest; `state` is the endpoint's afterwards, `worth` its E."""

    __tablename__ = "endpoint_look"
    __table_args__ = (Index(None, "epoch_id", "id"), Index(None, "run_id"))

    id: Mapped[int] = mapped_column(BIG_KEY, primary_key=True)
    epoch_id: Mapped[int] = mapped_column(BIG_KEY, ForeignKey("endpoint_epoch.id"))
    run_id: Mapped[str | None] = mapped_column(ForeignKey("run.id"))
    kind: Mapped[LookKind] = mapped_column(word(LookKind, "kind"))
    at: Mapped[datetime]
    sequence: Mapped[int] = mapped_column(BigInteger)
    our_side: Mapped[str | None] = mapped_column(Text)
    level: Mapped[StreamLevel] = mapped_column(word(StreamLevel, "level"))
    worth: Mapped[float]
    value: Mapped[float]
    proven: Mapped[float]
    escalated: Mapped[float]
    events: Mapped[list[str]]
    state: Mapped[str] = mapped_column(Text)
