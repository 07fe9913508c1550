"""The latest answers of every endpoint of a model to the prompts that all of them are asked: its anchors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ScalarSelect, select
from sqlalchemy.orm import Session, aliased

from monitor.store.endpoints import find_endpoints
from monitor.store.pages import pages
from monitor.store.session import Sessions
from monitor.store.tables import Endpoint, Observation, Run
from monitor.store.vocabulary import RunStatus
from probes.plan import ProbeKind

# How probes/logprobs.py calls them; a run that only confirms has none.
_ANCHOR = "anchor-%"


@dataclass(frozen=True, slots=True)
class AskedEndpoint:
    """An endpoint and its latest whole run, within some time, that asked anchors: None where there is none."""

    endpoint_id: str
    provider: str
    served_name: str
    run_id: str | None
    at: datetime | None


@dataclass(frozen=True, slots=True)
class AskedModel:
    """Every endpoint of a model, the oldest first, with its run among those that began from `since` to `until`."""

    model: str
    since: datetime
    until: datetime
    endpoints: tuple[AskedEndpoint, ...]

    @property
    def run_ids(self) -> list[str]:
        return [each.run_id for each in self.endpoints if each.run_id is not None]


def asked(session: Session, model: str, since: datetime, until: datetime) -> AskedModel:
    records = find_endpoints(session, provider=None, model=model)
    latest = _latest(since, until)
    runs: dict[str, tuple[str, datetime]] = {}
    for some in pages([record.id for record in records]):
        found = session.execute(select(Endpoint.id, latest).where(Endpoint.id.in_(some)))
        ids = [run_id for _, run_id in found if run_id is not None]
        rows = session.execute(select(Run.endpoint_id, Run.id, Run.started_at).where(Run.id.in_(ids)))
        runs |= {endpoint_id: (run_id, at) for endpoint_id, run_id, at in rows}
    endpoints = (
        AskedEndpoint(each.id, each.provider, each.served_name, *runs.get(each.id, (None, None))) for each in records
    )
    return AskedModel(model, since, until, tuple(endpoints))


def _latest(since: datetime, until: datetime) -> ScalarSelect[str]:
    run = aliased(Run)
    anchored = select(Observation.id).where(Observation.run_id == run.id, Observation.item_key.like(_ANCHOR))
    return (
        select(run.id)
        .where(
            run.endpoint_id == Endpoint.id,
            run.probe == ProbeKind.LOGPROBS,
            run.status == RunStatus.SUCCEEDED,
            run.started_at >= since,
            run.started_at <= until,
            anchored.correlate(run).exists(),
        )
        .order_by(run.started_at.desc(), run.id.desc())
        .limit(1)
        .correlate(Endpoint)
        .scalar_subquery()
    )


def anchors(session: Session, run_ids: Sequence[str]) -> dict[str, tuple[bytes, ...]]:
    """The observations of each run's anchors as they are stored (see codec.py), in the order in which they came."""
    found: defaultdict[str, list[bytes]] = defaultdict(list)
    for some in pages(run_ids):
        rows = (
            select(Observation.run_id, Observation.blob)
            .where(Observation.run_id.in_(some), Observation.item_key.like(_ANCHOR))
            .order_by(Observation.id)
        )
        for run_id, blob in session.execute(rows):
            found[run_id].append(blob)
    return {run_id: tuple(blobs) for run_id, blobs in found.items()}


class Anchors:
    """Every method is one transaction that only reads."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def asked(self, model: str, since: datetime, until: datetime) -> AskedModel:
        with self._sessions.read() as session:
            return asked(session, model, since, until)

    def of(self, run_ids: Sequence[str]) -> dict[str, tuple[bytes, ...]]:
        with self._sessions.read() as session:
            return anchors(session, run_ids)
