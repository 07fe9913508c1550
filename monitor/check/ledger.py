"""Where a check is written down: the store, or nowhere with `--no-save`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from monitor import clock
from monitor.check.ask import token_counts
from monitor.config import EndpointConfig
from monitor.store import (
    BaselineRecord,
    BaselineRole,
    BaselineStatus,
    EndpointIdentity,
    EndpointRecord,
    ReferenceIdentity,
    RunObservations,
    RunResult,
    RunStart,
    RunStatus,
    Store,
    Trigger,
    new_id,
)
from probes.capabilities import Capabilities
from probes.plan import Plan, ProbeKind, Sample

# Samples wait in memory until there are this many, so that a killed process loses few and the disk is left alone.
_BATCH = 10
# Enrolment and the first runs found unchanged; later ones do not join, so that a slow ramp cannot move the baseline.
MOST_BASELINE_RUNS = 5


@dataclass(frozen=True, slots=True)
class Past:
    """What an endpoint's runs are compared with."""

    baseline: BaselineRecord | None = None
    runs: Sequence[RunObservations] = ()

    @property
    def open_for_more(self) -> bool:
        return self.baseline is not None and len(self.baseline.runs) < MOST_BASELINE_RUNS


class Ledger:
    """One check's place in the store. Without a store nothing is kept, and what is there is only read."""

    def __init__(self, store: Store | None, record: EndpointRecord | None, *, writes: bool) -> None:
        self._store = store
        self._record = record
        self._writes = writes and store is not None
        self._check_id = new_id("chk", clock.now())
        self._runs: dict[ProbeKind, _OpenRun] = {}

    @classmethod
    def saving(cls, database: Path, endpoint: EndpointConfig) -> Ledger:
        store = Store.open(database, at=clock.now())
        try:
            record = store.ensure_endpoint(_identity(endpoint), at=clock.now())
        except BaseException:
            store.close()
            raise
        return cls(store, record, writes=True)

    @classmethod
    def reading(cls, database: Path, endpoint: EndpointConfig) -> Ledger:
        """Uses the baseline and what is known of the endpoint, if there is a database, and writes nothing."""
        if not database.exists():
            return cls(None, None, writes=False)
        store = Store.open(database, at=clock.now())
        wanted = _identity(endpoint)
        found = [
            record
            for record in store.endpoints(provider=wanted.provider_slug, model=wanted.model_slug)
            if record.served_name == wanted.served_name and dict(record.routing) == dict(wanted.routing)
        ]
        return cls(store, found[0] if found else None, writes=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._store is not None:
            self._store.close()

    @property
    def writes(self) -> bool:
        return self._writes

    @property
    def run_ids(self) -> tuple[str, ...]:
        return tuple(run.run_id for run in self._runs.values())

    @property
    def capabilities(self) -> Capabilities:
        """What earlier runs learned of the endpoint. Without a baseline it is forgotten: an enrolment learns afresh."""
        if self._store is None or self._record is None:
            return Capabilities()
        enrolled = any(b.status is BaselineStatus.ACTIVE for b in self._store.baselines(self._record.id))
        return Capabilities.from_dict(self._record.capabilities) if enrolled else Capabilities()

    def past(self, probe: ProbeKind) -> Past:
        if self._store is None or self._record is None:
            return Past()
        baseline = self._store.active_baseline(self._record.id, probe)
        return Past() if baseline is None else Past(baseline, self._store.baseline_observations(baseline.id))

    def begin(
        self, plan: Plan, endpoint: EndpointConfig, code_version: str, reference: ReferenceIdentity | None
    ) -> None:
        if not self._writes or self._store is None or self._record is None:
            return
        start = RunStart(
            endpoint_id=self._record.id,
            check_id=self._check_id,
            probe=plan.probe,
            suite_sha256=plan.suite_sha256,
            suite_version=plan.suite_version,
            trigger=Trigger.CLI,
            config_digest=endpoint.digest,
            code_version=code_version,
            planned=len(plan.items),
            reference=reference,
        )
        self._runs[plan.probe] = _OpenRun(self._store.begin_run(start, at=clock.now()))

    def keep(self, probe: ProbeKind, sample: Sample) -> None:
        run = self._runs.get(probe)
        if run is not None:
            run.waiting.append(sample)
            tokens_in, tokens_out = token_counts([sample])
            run.tokens_in += tokens_in
            run.tokens_out += tokens_out
            if len(run.waiting) >= _BATCH:
                self._flush(run)

    def flush(self) -> None:
        for run in self._runs.values():
            self._flush(run)

    def save_capabilities(self, capabilities: Capabilities) -> None:
        if self._writes and self._store is not None and self._record is not None:
            self._store.save_capabilities(self._record.id, capabilities.to_dict())

    def finish(self, probe: ProbeKind, result: RunResult) -> BaselineRole | None:
        """Close a run; how it stands in the baseline now, None if it does not."""
        run = self._runs.get(probe)
        if run is None or self._store is None:
            return None
        self._flush(run)
        baseline = self._store.finish_run(run.run_id, result, at=clock.now())
        run.finished = True
        roles = {} if baseline is None else {member.run_id: member.role for member in baseline.runs}
        return roles.get(run.run_id)

    def abandon(self, status: RunStatus, error_code: str) -> None:
        """Close every run that is still open, with the samples that came and what they cost."""
        for probe, run in self._runs.items():
            if not run.finished:
                result = RunResult(status, error_code, tokens_in=run.tokens_in, tokens_out=run.tokens_out)
                self.finish(probe, result)

    def _flush(self, run: _OpenRun) -> None:
        if run.waiting and self._store is not None:
            self._store.add_samples(run.run_id, run.waiting, at=clock.now())
            run.waiting = []


@dataclass
class _OpenRun:
    run_id: str
    waiting: list[Sample] = field(default_factory=list)
    tokens_in: int = 0
    tokens_out: int = 0
    finished: bool = False


def _identity(endpoint: EndpointConfig) -> EndpointIdentity:
    return EndpointIdentity(
        provider_slug=endpoint.provider,
        base_url=endpoint.base_url,
        model_slug=endpoint.model,
        served_name=endpoint.name,
        routing={} if endpoint.routing is None else endpoint.routing.body(),
        labels=endpoint.labels,
    )
