"""Where a check is written down: the store, or nowhere with `--no-save`."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Self

from monitor import clock
from monitor.check.identity import identity_of
from monitor.check.options import CheckOptions
from monitor.check.own import OwnCheck, broken_off, nothing_broken_off
from monitor.check.recall import served_of
from monitor.check.remote_reference import is_endpoint
from monitor.check.resume import rebuilt, remaining
from monitor.check.seed import agree_on_seed
from monitor.config import EndpointConfig, Prices
from monitor.datadir import DataDir
from monitor.drift.rule import Verdict
from monitor.fault_points import FaultPoint, fault_point
from monitor.standing import STREAMS
from monitor.store import (
    BaselineRecord,
    BaselineRole,
    BaselineStatus,
    CheckRequest,
    Claimed,
    EndpointIdentity,
    EndpointRecord,
    EvidenceRecord,
    Queue,
    ReferenceIdentity,
    ResumedRun,
    RunObservations,
    RunResult,
    RunStart,
    RunStatus,
    Store,
    Trigger,
    limits,
    queue,
)
from monitor.store.process import this_process
from monitor.store.quantiles import Agg
from monitor.store.series import Series, Span, Step
from monitor.store.standing import standing_verdicts
from monitor.usage import Reported, Tokens
from probes.capabilities import Capabilities
from probes.evals.grade import GRADERS
from probes.plan import Plan, ProbeKind, Sample

if TYPE_CHECKING:
    from monitor.check.remote_side import RemoteSide
    from monitor.drift.accumulated import Accumulated
    from monitor.drift.protocol import ProtocolFacts
    from probes.evals.grade import Graded
    from probes.loops.graded import GradedLoop
    from probes.tools.scored import Scored

# Enrolment and the first runs found unchanged; later ones do not join, so that a slow ramp cannot move the baseline.
MOST_BASELINE_RUNS = 5
# A run of tool calls asks an eighth of the cases: five of each eighth.
_MOST_TOOL_RUNS = 5 * 8


@dataclass(frozen=True, slots=True)
class Past:
    """What an endpoint's runs are compared with. `served`: by run, what its reference called itself, where that was
    another endpoint."""

    baseline: BaselineRecord | None = None
    runs: Sequence[RunObservations] = ()
    served: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)

    @property
    def open_for_more(self) -> bool:
        if self.baseline is None:
            return False
        most = _MOST_TOOL_RUNS if self.baseline.probe is ProbeKind.TOOL_CALLS else MOST_BASELINE_RUNS
        return len(self.baseline.runs) < most


@dataclass(frozen=True, slots=True)
class PastTools:
    """The accepted answers to tool-call cases; `alike` are those of them whose cases were drawn as this run's, and
    `reference` the answers to these of the reference that it has."""

    past: Past = Past()
    accepted: Sequence[Scored] = ()
    alike: Sequence[Scored] = ()
    reference: Sequence[Scored] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """What a run was found to be, and its place in the baseline."""

    evidence: tuple[EvidenceRecord, ...]
    role: BaselineRole | None


@dataclass(frozen=True, slots=True)
class Begun:
    """A run at its start: what is to be asked, and the samples that an earlier attempt of the check was answered."""

    to_ask: Plan
    samples: list[Sample] = field(default_factory=list)


class Ledger:
    """One check's place in the store. Without a store nothing is kept, and what is there is only read.

    Everything is written under the check's lease: LeaseLostError where the check is another's by now.
    """

    def __init__(
        self, store: Store | None, record: EndpointRecord | None, claimed: Claimed | None, settled_microusd: int = 0
    ) -> None:
        self._store = store
        self._record = record
        self._claimed = claimed
        # Of what it costs, what is counted to the provider's day already.
        self._settled = settled_microusd
        self._runs: dict[ProbeKind, _OpenRun] = {}
        # What the asking may have cost, earlier attempts included; None until it has ended.
        self.charge: Tokens | None = None

    @classmethod
    def saving(cls, data: DataDir, endpoint: EndpointConfig, keep_bodies: timedelta, own: OwnCheck) -> Ledger:
        store = Store.open(data.database, at=clock.now(), keep_bodies=keep_bodies)
        with _closed_on_failure(store):
            if data.database_url is not None:
                agree_on_seed(store, data.seed())
            record = store.ensure_endpoint(identity_of(endpoint), at=clock.now())
            return cls(store, record, *_entered(store, record, own))

    @classmethod
    def leased(cls, store: Store, record: EndpointRecord, claimed: Claimed) -> Ledger:
        """A worker's, over a store that stays open: a check that may have been begun by another one."""
        return cls(store, record, claimed)

    @classmethod
    def reading(cls, data: DataDir, endpoint: EndpointConfig) -> Ledger:
        """Uses the baseline and what is known of the endpoint, and adds nothing."""
        store = Store.open(data.database, at=clock.now())
        wanted = identity_of(endpoint)
        with _closed_on_failure(store):
            return cls(store, record_of(store, wanted), None)

    @classmethod
    def empty(cls) -> Ledger:
        """No past, and no place to write."""
        return cls(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._store is not None:
            self._store.close()

    @property
    def writes(self) -> bool:
        return self._claimed is not None

    @property
    def confirms(self) -> bool:
        """Whether the check repeats another one, and so says nothing of what the endpoint should be."""
        return self._claimed is not None and self._claimed.entry.confirms is not None

    @property
    def escalates(self) -> bool:
        """Whether the endpoint's streams ask for it, on answers that none of them has seen."""
        return self._claimed is not None and self._claimed.entry.trigger is Trigger.ESCALATE

    @property
    def screened(self) -> frozenset[str]:
        """What the check that this one confirms suspected."""
        if self._store is None or self._claimed is None or self._claimed.entry.confirms is None:
            return frozenset()
        return self._store.screened(self._claimed.entry.confirms)

    @property
    def done(self) -> int:
        """Samples that are stored."""
        return sum(run.stored for run in self._runs.copy().values())

    @property
    def planned(self) -> int:
        """Samples that are wanted."""
        return sum(run.planned for run in self._runs.copy().values())

    def spent_microusd(self, prices: Prices | None) -> int | None:
        """What the check may have cost; None where nobody knows: without prices, or where the answers that an earlier
        attempt was given were not read again."""
        begun_before = self._claimed is not None and self._claimed.begun
        if self.charge is None and begun_before:
            return None
        return (self.charge or Tokens()).microusd(prices)

    @property
    def run_ids(self) -> tuple[str, ...]:
        return tuple(run.run_id for run in self._runs.values())

    @property
    def endpoint_id(self) -> str:
        """Empty where nothing is stored of it."""
        return "" if self._record is None else self._record.id

    @property
    def capabilities(self) -> Capabilities:
        """What earlier runs learned of the endpoint. Without a baseline it is forgotten: an enrolment learns afresh."""
        if self._store is None or self._record is None:
            return Capabilities()
        enrolled = any(b.status is BaselineStatus.ACTIVE for b in self._store.baselines(self._record.id))
        # The record is as old as a worker's configuration.
        return Capabilities.from_dict(self._store.capabilities(self._record.id)) if enrolled else Capabilities()

    def capabilities_of(self, endpoint: EndpointConfig) -> Capabilities:
        """What earlier runs learned of another endpoint, where it is monitored itself."""
        record = None if self._store is None else record_of(self._store, identity_of(endpoint))
        return Capabilities() if record is None else Capabilities.from_dict(record.capabilities)

    def count_beside(self, remote: RemoteSide, day: date, counted: int) -> None:
        """Count what a reference that is another endpoint cost to its provider's `day`, but for what is `counted`."""
        spent = remote.microusd
        if self._store is None or self._claimed is None or spent is None or spent == counted:
            return
        with self._store.sessions.write() as session:
            queue.hold(session, self._claimed.lease)
            limits.spend(session, remote.reference.config.provider, day, spent - counted)

    def past(self, probe: ProbeKind) -> Past:
        if self._store is None or self._record is None:
            return Past()
        baseline = self._store.active_baseline(self._record.id, probe)
        if baseline is None:
            return Past()
        runs = self._store.baseline_observations(baseline.id)
        remote = [run.run_id for run in runs if is_endpoint(run.reference_fingerprint)]
        return Past(baseline, runs, {run_id: served_of(self._store.evidence(run_id)) for run_id in remote})

    def past_tools(self, suite_version: str, fingerprint: str | None) -> PastTools:
        """The tool-call probe's baseline, and the scored answers of its runs; the reference's are read where
        `fingerprint` names one."""
        if self._store is None or self._record is None:
            return PastTools()
        baseline = self._store.active_baseline(self._record.id, ProbeKind.TOOL_CALLS)
        if baseline is None:
            return PastTools()
        alike, others = self._store.baseline_drawn_alike(baseline.id, suite_version)
        reference: Sequence[Scored] = ()
        if fingerprint is not None:
            reference = self._store.baseline_reference_scored(baseline.id, suite_version, fingerprint)
        return PastTools(Past(baseline), [*alike, *others], alike, reference)

    def last_accumulated(self) -> Accumulated | None:
        """What the endpoint's runs of tool calls add up to so far, as the last one left it."""
        if self._store is None or self._record is None:
            return None
        return self._store.last_accumulated(self._record.id)

    def past_loops(self) -> tuple[Past, Sequence[Scored], Sequence[GradedLoop]]:
        """The agent loops' baseline, and of its runs the scored turns and what the free loops came to."""
        if self._store is None or self._record is None:
            return Past(), (), ()
        baseline = self._store.active_baseline(self._record.id, ProbeKind.AGENT_LOOPS)
        if baseline is None:
            return Past(), (), ()
        return Past(baseline), self._store.baseline_scored(baseline.id), self._store.baseline_loops(baseline.id)

    def past_protocol(self) -> tuple[Past, Sequence[ProtocolFacts]]:
        """The protocol probe's baseline, and what was seen in its runs."""
        if self._store is None or self._record is None:
            return Past(), ()
        baseline = self._store.active_baseline(self._record.id, ProbeKind.PROTOCOL)
        return (Past(), ()) if baseline is None else (Past(baseline), self._store.baseline_protocol(baseline.id))

    def past_graded(self, suite: str) -> tuple[Past, Sequence[Sequence[Graded]]]:
        """A private suite's baseline, and of each of its runs the grades by today's graders."""
        if self._store is None or self._record is None:
            return Past(), ()
        baseline = self._store.active_baseline(self._record.id, ProbeKind.EVALS, suite)
        if baseline is None:
            return Past(), ()
        return Past(baseline), [by_these_graders(run) for run in self._store.baseline_graded(baseline.id)]

    def past_points(self, metric: str, span: Span) -> list[tuple[datetime, float]]:
        """The median of a metric's points in each hour."""
        if self._store is None or self._record is None:
            return []
        found = Series(self._store.sessions).series(self._record.id, metric, span, Step.HOUR, Agg.P50)
        return [(point.at, point.value) for point in found.points]

    def broken_off_check(self, options: CheckOptions, at: datetime) -> OwnCheck:
        """The last check of these options, to go on with. Raises UsageError where none was broken off of late."""
        if self._store is None or self._record is None:
            raise nothing_broken_off()
        return broken_off(self._store, self._record.id, options, at)

    def broken_off(self, suite_sha256: str, since: datetime) -> Sequence[Graded]:
        """The grades of the last run of this version of a suite, if it began after `since` and was broken off."""
        if self._store is None or self._record is None:
            return ()
        return by_these_graders(self._store.broken_off(self._record.id, suite_sha256, since))

    def begin(
        self, plan: Plan, endpoint: EndpointConfig, code_version: str, reference: ReferenceIdentity | None
    ) -> Begun:
        """Enter a run, or go on with the one that an earlier attempt of the check began."""
        if self._store is None or self._claimed is None:
            return Begun(plan)
        entry, lease = self._claimed.entry, self._claimed.lease
        start = RunStart(
            endpoint_id=entry.endpoint_id,
            check_id=entry.id,
            probe=plan.probe,
            suite_sha256=plan.suite_sha256,
            suite_version=plan.suite_version,
            trigger=entry.trigger,
            config_digest=endpoint.digest,
            code_version=code_version,
            planned=len(plan.foreseen),
            reference=reference,
        )
        if self._claimed.begun:
            earlier = self._store.resume_run(start, at=clock.now(), lease=lease)
            if earlier is not None:
                return self._go_on(plan, earlier, endpoint.prices)
        run_id = self._store.begin_run(start, at=clock.now(), lease=lease)
        self._runs[plan.probe] = _OpenRun(run_id, endpoint.prices, len(plan.foreseen))
        fault_point(FaultPoint.AFTER_BEGIN_RUN)
        return Begun(plan)

    def _go_on(self, plan: Plan, earlier: ResumedRun, prices: Prices | None) -> Begun:
        finished = earlier.run.status.finished
        samples = rebuilt(plan, earlier.samples)
        self._runs[plan.probe] = _OpenRun(
            earlier.run.id,
            prices,
            len(plan.foreseen),
            stored=len(earlier.samples),
            used=Reported.of(samples),
            finished=finished,
        )
        to_ask = replace(plan, items=(), conversations=()) if finished else remaining(plan, earlier.samples)
        return Begun(to_ask, samples)

    def keep(self, probe: ProbeKind, sample: Sample) -> Sample:
        run = self._runs.get(probe)
        if run is not None:
            run.waiting.append(sample)
            run.used += Reported.of([sample])
        return sample

    def keep_grades(self, graded: Sequence[Graded]) -> None:
        """Of a run of evals, as they come: nothing else of its answers is kept."""
        run = self._runs.get(ProbeKind.EVALS)
        if graded and run is not None and self._store is not None and self._claimed is not None:
            self._store.add_grades(run.run_id, graded, lease=self._claimed.lease)

    def flush(self) -> None:
        """Store the samples that wait."""
        for run in self._runs.values():
            self._flush(run)

    def save_capabilities(self, capabilities: Capabilities) -> None:
        if self._claimed is not None and self._store is not None and self._record is not None:
            self._store.save_capabilities(self._record.id, capabilities.to_dict(), lease=self._claimed.lease)

    def finish(self, probe: ProbeKind, result: RunResult) -> BaselineRole | None:
        """Close a run; how it stands in the baseline now, None if it does not."""
        run = self._runs.get(probe)
        if run is None or self._store is None or self._claimed is None:
            return None
        self._flush(run)
        baseline = self._store.finish_run(run.run_id, result, at=clock.now(), lease=self._claimed.lease)
        run.finished = True
        fault_point(FaultPoint.AFTER_FINISH_RUN)
        return _role(baseline, run.run_id)

    def found_before(self, probe: ProbeKind) -> Found | None:
        """What an earlier attempt found, where it finished the run; it is not judged again."""
        run = self._runs.get(probe)
        if run is None or not run.finished or self._store is None or self._record is None:
            return None
        baseline = self._store.active_baseline(self._record.id, probe)
        return Found(self._store.evidence(run.run_id), _role(baseline, run.run_id))

    def streams_told(self) -> list[EvidenceRecord]:
        """What the endpoint's streams came to with the last run of this check; nothing where that says nothing."""
        if self._store is None or self._claimed is None:
            return []
        told = [one for run_id in self.run_ids for one in self._store.evidence(run_id) if one.metric == STREAMS]
        return told[-1:]

    @property
    def streams_moved(self) -> bool:
        """Whether the endpoint's streams say that it moved, which nobody has accepted yet."""
        if self._store is None or self._record is None:
            return False
        with self._store.sessions.read() as session:
            standing = standing_verdicts(session, [self._record.id]).get(self._record.id, ())
        return any(one.metric == STREAMS and one.verdict in (Verdict.SUSPECT, Verdict.DRIFT) for one in standing)

    def unfinished(self, status: RunStatus, error_code: str) -> dict[str, RunResult]:
        """How the runs that are still open end, by their ids."""
        return {
            run.run_id: run_result(status, error_code, run.used, run.prices)
            for run in self._runs.values()
            if not run.finished
        }

    def abandon(self, status: RunStatus, error_code: str) -> None:
        """Close every run that is still open, with the samples that came and what they cost, then the check."""
        for probe, run in self._runs.items():
            if not run.finished:
                self.finish(probe, run_result(status, error_code, run.used, run.prices))
        self.conclude(status, error_code=error_code)

    def conclude(
        self,
        status: RunStatus,
        *,
        verdict: Verdict | None = None,
        enrolled: bool = False,
        error_code: str | None = None,
    ) -> None:
        """Close the check itself, once all its runs are closed, and count what it cost to its provider's day."""
        if self._store is None or self._claimed is None:
            return
        lease, now = self._claimed.lease, clock.now()
        spent = self.spent_microusd(next((run.prices for run in self._runs.values()), None))
        with self._store.sessions.write() as session:
            queue.extend(session, lease, now, done=self.done, planned=self.planned)
            queue.finish(
                session, lease, status=status, verdict=verdict, enrolled=enrolled, error_code=error_code, at=now
            )
            if spent is not None and spent > self._settled:
                limits.spend(session, self._claimed.entry.provider, now.date(), spent - self._settled)

    def _flush(self, run: _OpenRun) -> None:
        if run.waiting and self._store is not None and self._claimed is not None:
            self._store.add_samples(run.run_id, run.waiting, at=clock.now(), lease=self._claimed.lease)
            run.stored += len(run.waiting)
            run.waiting = []
            fault_point(FaultPoint.AFTER_SAMPLE)


@dataclass(slots=True)
class _OpenRun:
    """A run that was begun; `waiting` are its samples that are not stored yet."""

    run_id: str
    prices: Prices | None
    planned: int
    stored: int = 0
    waiting: list[Sample] = field(default_factory=list)
    used: Reported = field(default_factory=Reported)
    finished: bool = False


def run_result(status: RunStatus, error_code: str | None, used: Reported, prices: Prices | None) -> RunResult:
    """How a run ended and what it cost, before anything that was found."""
    return RunResult(
        status,
        error_code,
        tokens_in=used.prompt,
        tokens_out=used.completion,
        n_without_usage=used.untold,
        cost_microusd=used.microusd(prices),
    )


def by_these_graders(graded: Sequence[Graded]) -> list[Graded]:
    """What graders of another version found is not what these would: such an item is as new."""
    return [one for one in graded if one.graders == GRADERS]


def record_of(store: Store, wanted: EndpointIdentity) -> EndpointRecord | None:
    known = store.endpoints(provider=wanted.provider_slug, model=wanted.model_slug)
    same = (one for one in known if (one.served_name, dict(one.routing)) == (wanted.served_name, dict(wanted.routing)))
    return next(same, None)


def _role(baseline: BaselineRecord | None, run_id: str) -> BaselineRole | None:
    roles = {} if baseline is None else {member.run_id: member.role for member in baseline.runs}
    return roles.get(run_id)


def _entered(store: Store, record: EndpointRecord, own: OwnCheck) -> tuple[Claimed, int]:
    """A check of this process's own, in the queue among all others; and what is settled of its cost."""
    queue = Queue(store.sessions)
    if own.goes_on is not None:
        return queue.reopen(own.goes_on, this_process())
    key = f"cli:{secrets.token_hex(16)}"
    request = CheckRequest(key, record.id, Trigger.CLI, own.at, own.options, nonce=own.nonce.hex())
    return queue.enter_running(request, this_process(), clock.now()), 0


@contextmanager
def _closed_on_failure(store: Store) -> Iterator[None]:
    try:
        yield
    except BaseException:
        store.close()
        raise
