"""A model's endpoints beside each other: which of them differs from the others?"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query

from monitor import clock
from monitor.api.needs import READS, State, problems
from monitor.api.resources.endpoints import effective
from monitor.api.shapes import Slug
from monitor.api.state import ApiState
from monitor.check.comparer import COMPARER
from monitor.config.times import parse_long_duration
from monitor.consensus import ConsensusDocument
from monitor.errors import NotFoundError

router = APIRouter(prefix="/models", tags=["models"])


@router.get("/{slug}/consensus", dependencies=[READS], responses=problems(404))
def show_consensus(
    state: State,
    slug: Slug,
    within: Annotated[
        str,
        Query(pattern=r"^[1-9][0-9]{0,2}(m|h|d)$", description="How far back the latest runs may lie: 90m, 24h, 7d."),
    ] = "24h",
) -> ConsensusDocument:
    """From the latest answers to the prompts that all of them are asked. It names whoever differs from the others,
    which is not to say who is right; with fewer than four providers it is inapplicable."""
    return consensus_of(state, slug, timedelta(seconds=parse_long_duration(within)))


def consensus_of(state: ApiState, model: str, within: timedelta) -> ConsensusDocument:
    """As of now. Raises NotFoundError for a model that was never asked and is not configured."""
    now = clock.now()
    found = COMPARER.compared(state.anchors, model, now - within, now)
    if not found.endpoints and not _configured(state, model):
        raise NotFoundError("There is no such model.", remedy="GET /api/v1/models lists those configured.")
    return found


def _configured(state: ApiState, model: str) -> bool:
    config = effective(state)
    if config is None:
        return False
    return model in config.file.models or any(each.model == model for each in config.all_endpoints())
