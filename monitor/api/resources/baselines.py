"""Baselines: what each probe of an endpoint is compared with, now and before."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from monitor.api.needs import READS, State, problems
from monitor.api.paging import PageOf, PageRequest, sorted_by
from monitor.api.shapes import EndpointFilter, Shape
from monitor.store.vocabulary import BaselineRole, BaselineStatus
from probes.plan import ProbeKind

router = APIRouter(prefix="/baselines", tags=["baselines"])

BaselinePages = Annotated[PageRequest, sorted_by("-created_at")]


class BaselineRunDocument(Shape):
    run_id: str
    role: BaselineRole


class BaselineDocument(Shape):
    id: str
    endpoint_id: str
    probe: ProbeKind
    suite: str = Field(description="the private suite, of evals; empty of other probes")
    version: int
    status: BaselineStatus
    set_by: str
    note: str | None
    created_at: datetime
    closed_at: datetime | None
    runs: list[BaselineRunDocument]


@router.get("", dependencies=[READS], responses=problems())
def list_baselines(
    state: State,
    paged: BaselinePages,
    endpoint: EndpointFilter = None,
    status: Annotated[BaselineStatus | None, Query()] = None,
) -> PageOf[BaselineDocument]:
    """The newest first. `POST /endpoints/{id}/baseline:reset` and `:accept` change them."""
    return paged.answer(state.browse.baselines(endpoint, status, paged.window()))
