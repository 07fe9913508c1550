"""What is asked of lists, and the items that they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from monitor.drift.rule import Verdict
from monitor.standing import StandingVerdict
from monitor.store.entries import CheckEntry
from monitor.store.records import EndpointRecord
from monitor.store.tables import Sample as SampleRow
from monitor.store.vocabulary import ChangeKind, RunStatus, Trigger
from probes.plan import Outcome, ProbeKind


@dataclass(frozen=True, slots=True)
class EndpointFilter:
    """None stands for any; every one of the labels has to be there with its value."""

    provider: str | None = None
    model: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckFilter:
    """None stands for any; `since` and `until` are about the time it was queued; the labels are the endpoint's."""

    endpoint_id: str | None = None
    provider: str | None = None
    model: str | None = None
    status: RunStatus | None = None
    verdict: Verdict | None = None
    trigger: Trigger | None = None
    since: datetime | None = None
    until: datetime | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunFilter:
    """None stands for any; `since` and `until` are about its start; the labels are the endpoint's."""

    endpoint_id: str | None = None
    check_id: str | None = None
    provider: str | None = None
    model: str | None = None
    probe: ProbeKind | None = None
    status: RunStatus | None = None
    since: datetime | None = None
    until: datetime | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """None stands for any."""

    endpoint_id: str | None = None
    kind: ChangeKind | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class EndpointOverview:
    """`judged` is the last check that came to a verdict, `latest` the last one of all; `standing` is what stands of
    everything that was asked."""

    endpoint: EndpointRecord
    latest: CheckEntry | None
    judged: CheckEntry | None
    standing: tuple[StandingVerdict, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """How everything stands: the endpoints, and how many alerts are open that are not pending any more."""

    endpoints: tuple[EndpointOverview, ...]
    alerts: int


@dataclass(frozen=True, slots=True)
class SampleRecord:
    """The facts of one request and its answer; neither prompt nor answer."""

    id: int
    run_id: str
    endpoint_id: str
    created_at: datetime
    sent_at: datetime | None
    item_key: str
    rep: int
    anchor: bool
    outcome: Outcome
    attempts: int
    first_attempt_ok: bool
    error_code: str | None
    http_status: int | None
    finish_reason: str | None
    quirks: tuple[str, ...]
    ttft_ms: float | None
    total_ms: float | None
    tokens_in: int | None
    tokens_out: int | None
    tokens_cached: int | None
    provider_request_id: str | None
    response_sha256: str | None


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    id: int
    endpoint_id: str | None
    kind: ChangeKind
    text: str
    at: datetime


def sample_record(row: SampleRow) -> SampleRecord:
    return SampleRecord(
        id=row.id,
        run_id=row.run_id,
        endpoint_id=row.endpoint_id,
        created_at=row.created_at,
        sent_at=row.sent_at,
        item_key=row.item_key,
        rep=row.rep,
        anchor=row.anchor,
        outcome=row.outcome,
        attempts=row.attempts,
        first_attempt_ok=row.first_attempt_ok,
        error_code=row.error_code,
        http_status=row.http_status,
        finish_reason=row.finish_reason,
        quirks=tuple(row.quirks),
        ttft_ms=row.ttft_ms,
        total_ms=row.total_ms,
        tokens_in=row.tokens_in,
        tokens_out=row.tokens_out,
        tokens_cached=row.tokens_cached,
        provider_request_id=row.provider_request_id,
        response_sha256=row.response_sha256,
    )
