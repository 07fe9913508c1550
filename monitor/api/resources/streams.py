"""Streams: what an endpoint's rounds add up to, the path of its E, and the evidence behind it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import Field

from monitor import clock
from monitor.api.needs import READS, State, problems
from monitor.api.paging import PageOf, PageRequest, sorted_by
from monitor.api.resources.endpoints import existing
from monitor.api.shapes import EndpointId, Shape, Since, Until
from monitor.drift.evidence import Combining, Null
from monitor.errors import NotFoundError
from monitor.render.streams import document_of
from monitor.store.keyset import Window
from monitor.store.stream_pages import LookFilter, StreamEvidenceFilter
from monitor.store.stream_view_records import StreamEvidenceRecord
from monitor.store.vocabulary import EpochEnd, LookKind, StreamLevel, StreamTier
from monitor.streams_document import StreamsDocument

router = APIRouter(prefix="/endpoints/{endpoint_id}", tags=["streams"])

LookPages = Annotated[PageRequest, sorted_by("-at")]
EpochPages = Annotated[PageRequest, sorted_by("-number")]
EvidencePages = Annotated[PageRequest, sorted_by("-sequence")]
EpochNumber = Annotated[int, Path(ge=0, lt=2**31)]


class LookDocument(Shape):
    """What was seen at one look at an endpoint, or when an escalation was closed."""

    id: int
    epoch: int
    kind: LookKind
    at: datetime
    run_id: str | None
    level: StreamLevel
    worth: float = Field(description="the endpoint's E")
    value: float = Field(description="the average of all streams, those without levels among them")
    proven: float = Field(description="the same with those without levels as 1")
    escalated: float = Field(description="what 1 staked on the open escalation had become")
    events: list[str]
    our_side: str | None = Field(description="why our own side was taken to have moved")


class EpochDocument(Shape):
    """`why` it was closed; `note` and `closed_by` where a person did so."""

    number: int
    stack: str
    opened_at: datetime
    closed_at: datetime | None
    why: EpochEnd | None
    note: str | None
    closed_by: str | None


class SaysDocument(Shape):
    """What one piece of evidence says: the fields of its kind, the others null. A factor may be infinite."""

    kind: Literal["scores", "factors", "exact_p", "inapplicable"]
    scores: list[float] | None = Field(None, description="in [0, 1], high is bad")
    factors: list[float | Literal["inf"]] | None = Field(None, description="e-values")
    p: float | None = None
    null: Null | None = None
    combining: Combining | None = None
    reason: str | None = None


class StreamEvidenceDocument(Shape):
    """What one run said of one stream; the order of `sequence` is that in which it was added."""

    sequence: int
    epoch: int
    escalation: int = Field(description="0, or the number of the escalation that it was asked by")
    tier: StreamTier
    probe_set: str
    run_id: str
    at: datetime
    says: SaysDocument
    n: int
    tokens: int
    reasons: list[str]
    value: float = Field(description="the stream's E afterwards")
    added_at: datetime


@router.get("/streams", dependencies=[READS], responses=problems(404))
def show_streams(state: State, endpoint_id: EndpointId) -> StreamsDocument:
    """How the endpoint's streams stand now: the document of `monitor drift show`."""
    found = existing(state, endpoint_id)
    return document_of(found.endpoint, state.streams.view(endpoint_id), clock.now())


@router.get("/streams/path", dependencies=[READS], responses=problems(404))
def list_looks(
    state: State,
    paged: LookPages,
    endpoint_id: EndpointId,
    epoch: Annotated[int | None, Query(ge=0, lt=2**31, description="Only of this epoch.")] = None,
    since: Since = None,
    until: Until = None,
) -> PageOf[LookDocument]:
    """The path of the endpoint's E, a point a look, the latest first."""
    existing(state, endpoint_id)
    wanted = LookFilter(endpoint_id, epoch, since, until)
    return paged.answer(state.streams.looks(wanted, paged.window()))


@router.get("/epochs", dependencies=[READS], responses=problems(404))
def list_epochs(state: State, paged: EpochPages, endpoint_id: EndpointId) -> PageOf[EpochDocument]:
    """The epochs of the endpoint's streams, the open one first, and why the others ended."""
    existing(state, endpoint_id)
    return paged.answer(state.streams.epochs(endpoint_id, paged.window()))


@router.get("/epochs/{number}/evidence", dependencies=[READS], responses=problems(404))
def list_evidence(
    state: State,
    paged: EvidencePages,
    endpoint_id: EndpointId,
    number: EpochNumber,
    tier: Annotated[StreamTier | None, Query(description="Only of streams of this tier.")] = None,
    probe_set: Annotated[str | None, Query(max_length=128, description="Only of streams of this probe set.")] = None,
) -> PageOf[StreamEvidenceDocument]:
    """What an epoch's streams were given, the latest first."""
    existing(state, endpoint_id)
    # Epochs are numbered without a gap, so that the last one says which there are.
    last = next(iter(state.streams.epochs(endpoint_id, Window(1)).items), None)
    if last is None or number > last.number:
        raise NotFoundError(
            f"Endpoint {endpoint_id} has no epoch {number}.",
            remedy=f"GET /api/v1/endpoints/{endpoint_id}/epochs lists them.",
        )
    page = state.streams.evidence(StreamEvidenceFilter(endpoint_id, number, tier, probe_set), paged.window())
    return paged.answer(page, [_evidence(one) for one in page.items])


def _evidence(one: StreamEvidenceRecord) -> StreamEvidenceDocument:
    return StreamEvidenceDocument(
        sequence=one.sequence,
        epoch=one.epoch,
        escalation=one.escalation,
        tier=one.tier,
        probe_set=one.probe_set,
        run_id=one.run_id,
        at=one.at,
        says=SaysDocument.model_validate(dict(one.says)),
        n=one.n,
        tokens=one.tokens,
        reasons=list(one.reasons),
        value=one.value,
        added_at=one.added_at,
    )
