"""Runs: one probe sent to one endpoint, with what was found; and the facts of its samples."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from monitor.api.labels import LABELLED, Labels
from monitor.api.needs import READS, State, problems
from monitor.api.paging import PageOf, PageRequest, sorted_by
from monitor.api.shapes import CheckFilter, EndpointFilter, ModelFilter, ProviderFilter, RunId, Shape, Since, Until
from monitor.check.recall import own_detail, said_of
from monitor.drift.rule import Verdict
from monitor.errors import NotFoundError
from monitor.store.browse_records import RunFilter
from monitor.store.records import CheckRun, EvidenceRecord
from monitor.store.vocabulary import BaselineRole, RunStatus, Trigger
from monitor.verdict import (
    CauseStatement,
    ExplainedValue,
    LoopValue,
    ParameterValue,
    ProtocolStatement,
    RateValue,
    SightingValue,
    VariantRates,
)
from probes.plan import Outcome, ProbeKind

router = APIRouter(prefix="/runs", tags=["runs"])

RunPages = Annotated[PageRequest, sorted_by("-started_at", "n_bad", "n_err")]
SamplePages = Annotated[PageRequest, sorted_by("id", "total_ms")]


class RunDocument(Shape):
    id: str
    check_id: str
    endpoint_id: str
    probe: ProbeKind
    trigger: Trigger
    status: RunStatus
    error_code: str | None
    suite_sha256: str
    suite_version: str
    config_digest: str
    code_version: str
    reference_fingerprint: str | None
    served_fingerprint: str | None
    planned: int
    n_ok: int
    n_bad: int
    n_err: int
    tokens_in: int | None = Field(description="by the endpoint's own count; null where it gave none")
    tokens_out: int | None
    n_without_usage: int | None = Field(description="answers that are not in these sums, as they came without usage")
    cost_microusd: int | None
    started_at: datetime
    finished_at: datetime | None


class IntervalDocument(Shape):
    low: float
    high: float
    level: float


class CauseDocument(Shape):
    name: str
    weight: float


class EvidenceDocument(Shape):
    """What one check of the run concluded. `value`, `interval`, `baseline`, `detectable` and `target` are in `unit`."""

    metric: str
    detector: str
    detector_version: str
    verdict: Verdict
    counted: bool
    reason: str | None
    statistic: float | None
    p: float | None
    adjusted_p: float | None
    value: float | None
    unit: str | None
    interval: IntervalDocument | None
    baseline: float | None
    detectable: float | None
    target: float | None
    n: int | None
    tokens: int | None
    causes: list[CauseDocument]
    detail: dict[str, Any] = Field(description="the detector's own")


class RunWithEvidence(RunDocument):
    """What is said beside the evidence is as in the document of `monitor probe`."""

    baseline_role: BaselineRole | None
    evidence: list[EvidenceDocument]
    rates: tuple[RateValue, ...]
    variants: tuple[VariantRates, ...]
    loops: tuple[LoopValue, ...]
    parameters: tuple[ParameterValue, ...]
    protocol: ProtocolStatement | None
    sightings: tuple[SightingValue, ...] = Field(description="what the run saw of features of a change")
    explained: ExplainedValue | None = Field(description="what the reference says of causes that it computed")
    causes: tuple[CauseStatement, ...] = Field(description="of the check as far as it was judged by then")
    ruler: str | None


class SampleDocument(Shape):
    """The facts of one request and its answer; prompts and answers stay private."""

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
    quirks: list[str]
    ttft_ms: float | None
    total_ms: float | None
    tokens_in: int | None
    tokens_out: int | None
    tokens_cached: int | None
    provider_request_id: str | None
    response_sha256: str | None


@router.get("", dependencies=[READS], responses=problems(), openapi_extra=LABELLED)
def list_runs(
    state: State,
    paged: RunPages,
    labels: Labels,
    endpoint: EndpointFilter = None,
    check: CheckFilter = None,
    provider: ProviderFilter = None,
    model: ModelFilter = None,
    probe: Annotated[ProbeKind | None, Query()] = None,
    status: Annotated[RunStatus | None, Query()] = None,
    since: Since = None,
    until: Until = None,
) -> PageOf[RunDocument]:
    """The latest first."""
    wanted = RunFilter(endpoint, check, provider, model, probe, status, since, until, labels)
    return paged.answer(state.browse.runs(wanted, paged.window()))


@router.get("/{run_id}", dependencies=[READS], responses=problems(404))
def show_run(state: State, run_id: RunId) -> RunWithEvidence:
    """A run with its evidence, and with what was found beside it."""
    found = state.browse.run(run_id)
    if found is None:
        raise _no_run(run_id)
    return _document(found)


@router.get("/{run_id}/samples", dependencies=[READS], responses=problems(404))
def list_samples(state: State, paged: SamplePages, run_id: RunId) -> PageOf[SampleDocument]:
    """In the order in which the answers came."""
    if state.browse.run(run_id) is None:
        raise _no_run(run_id)
    return paged.answer(state.browse.samples(run_id, paged.window()))


def _no_run(run_id: str) -> NotFoundError:
    return NotFoundError(f"There is no run {run_id}.", remedy="GET /api/v1/runs lists them.")


def _document(found: CheckRun) -> RunWithEvidence:
    run, said = RunDocument.model_validate(found.run).model_dump(), said_of(found.evidence)
    return RunWithEvidence(
        **run,
        baseline_role=found.baseline_role,
        evidence=[_evidence(each) for each in found.evidence],
        rates=said.rates,
        variants=said.variants,
        loops=said.loops,
        parameters=said.parameters,
        protocol=said.protocol,
        sightings=said.sightings,
        explained=said.explained,
        causes=said.causes,
        ruler=said.ruler,
    )


def _evidence(record: EvidenceRecord) -> EvidenceDocument:
    return EvidenceDocument.model_validate(replace(record, detail=own_detail(record)))
