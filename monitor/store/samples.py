"""Samples on their way into the ledger: in small transactions, each sample once, whatever is sent again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from monitor.store.bodies import Exchange, pack, unpack
from monitor.store.once import insert_returning
from monitor.store.records import StoredSample
from monitor.store.runs import running
from monitor.store.tables import Run, SampleBody
from monitor.store.tables import Sample as SampleRow
from monitor.store.text import foreign_id
from monitor.usage import claimed_count
from probes.plan import Sample

BATCH = 50
BODY_LIFETIME = timedelta(days=14)


@dataclass(frozen=True, slots=True)
class Packed:
    """A sample with its exchange as it will be stored: the work that needs no database is done. `body` is None of a
    private one, whose exchange is not stored."""

    sample: Sample
    body: bytes | None

    @classmethod
    def of(cls, sample: Sample) -> Packed:
        return cls(sample, None if sample.item.private else pack(sample))


def add_batch(session: Session, run_id: str, batch: Sequence[Packed], at: datetime) -> None:
    """Add those samples of a running run that it does not have yet (by item and repeat)."""
    run = running(session, run_id)
    given: dict[tuple[str, int], Packed] = {}
    for packed in batch:
        given.setdefault((packed.sample.item.key, packed.sample.item.rep), packed)
    rows = [_row(run, packed.sample, at) for packed in given.values()]
    new = insert_returning(session, SampleRow, rows, SampleRow.id, SampleRow.item_key, SampleRow.rep)
    expires_at = at + BODY_LIFETIME
    bodies = [
        {"sample_id": sample_id, "blob": body, "expires_at": expires_at}
        for sample_id, key, rep in new
        if (body := given[key, rep].body) is not None
    ]
    if bodies:
        session.connection().execute(insert(SampleBody), bodies)


def _row(run: Run, sample: Sample, at: datetime) -> dict[str, Any]:
    completion = sample.completion
    last = sample.attempts[-1] if sample.attempts else None
    usage = completion.usage if completion else None
    return {
        "run_id": run.id,
        "endpoint_id": run.endpoint_id,
        "created_at": at,
        "sent_at": last.sent_at if last else None,
        "item_key": sample.item.key,
        "rep": sample.item.rep,
        "anchor": sample.item.anchor,
        "outcome": sample.outcome,
        "attempts": len(sample.attempts),
        "first_attempt_ok": sample.first_attempt_ok,
        "error_code": last.error if last else None,
        "http_status": last.http_status if last else None,
        "finish_reason": foreign_id(completion.finish_reason, 64) if completion else None,
        "quirks": [str(quirk) for quirk in completion.quirks] if completion else [],
        "ttft_ms": _milliseconds(completion.timings.first_output) if completion else None,
        "total_ms": _milliseconds(last.seconds) if last else None,
        "tokens_in": claimed_count(usage.prompt_tokens) if usage else None,
        "tokens_out": claimed_count(usage.completion_tokens) if usage else None,
        "tokens_cached": claimed_count(usage.cached_tokens) if usage else None,
        "provider_request_id": foreign_id(completion.id, 256) if completion else None,
        "response_sha256": hashlib.sha256(last.body).hexdigest() if last else None,
    }


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000.0


def exchanges(session: Session, run_id: str) -> list[Exchange]:
    """The bodies of a run that have not expired, in the order in which the samples came."""
    blobs = (
        select(SampleBody.blob)
        .join(SampleRow, SampleRow.id == SampleBody.sample_id)
        .where(SampleRow.run_id == run_id)
        .order_by(SampleRow.id)
    )
    return [unpack(blob) for blob in session.scalars(blobs)]


def stored(session: Session, run_id: str) -> tuple[StoredSample, ...]:
    """The samples of a run in the order in which they came."""
    rows = session.execute(
        select(SampleRow.item_key, SampleRow.rep, SampleRow.outcome, SampleBody.blob)
        .outerjoin(SampleBody, SampleBody.sample_id == SampleRow.id)
        .where(SampleRow.run_id == run_id)
        .order_by(SampleRow.id)
    )
    return tuple(
        StoredSample(item_key, rep, outcome, None if blob is None else unpack(blob))
        for item_key, rep, outcome, blob in rows
    )
