"""Change events: everything that may explain a break in a chart."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query

from monitor.api.needs import READS, State, problems
from monitor.api.paging import PageOf, PageRequest, sorted_by
from monitor.api.shapes import EndpointFilter, Shape, Since, Until
from monitor.store.browse_records import ChangeFilter
from monitor.store.vocabulary import ChangeKind

router = APIRouter(prefix="/change-events", tags=["change events"])

ChangePages = Annotated[PageRequest, sorted_by("-at")]


class ChangeDocument(Shape):
    id: int
    endpoint_id: str | None
    kind: ChangeKind
    text: str
    at: datetime


@router.get("", dependencies=[READS], responses=problems())
def list_changes(
    state: State,
    paged: ChangePages,
    endpoint: EndpointFilter = None,
    kind: Annotated[ChangeKind | None, Query()] = None,
    since: Since = None,
    until: Until = None,
) -> PageOf[ChangeDocument]:
    """The latest first."""
    return paged.answer(state.browse.changes(ChangeFilter(endpoint, kind, since, until), paged.window()))
