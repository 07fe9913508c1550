"""What goes into the store and comes out of it: frozen values, no ORM objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from monitor.drift.cause import Cause
from monitor.drift.interval import Interval
from monitor.drift.rule import Verdict
from monitor.store.bodies import Exchange
from monitor.store.vocabulary import BaselineRole, BaselineStatus, RunStatus, Trigger
from probes.plan import Outcome, ProbeKind

if TYPE_CHECKING:
    from monitor.drift.accumulated import Accumulated
    from monitor.drift.observation import Observation
    from monitor.drift.protocol import ProtocolFacts
    from monitor.store.stream_records import Fed
    from probes.evals.grade import Graded
    from probes.loops.graded import GradedLoop
    from probes.tools.scored import Scored


@dataclass(frozen=True, slots=True)
class EndpointIdentity:
    """What makes an endpoint the same one tomorrow: provider, model, served name, routing. The rest may change.

    `provider_was` and `model_was` are the slugs that these had before, of which theirs is the history.
    """

    provider_slug: str
    base_url: str
    model_slug: str
    served_name: str
    routing: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, Any] = field(default_factory=dict)
    provider_was: str | None = None
    model_was: str | None = None


@dataclass(frozen=True, slots=True)
class EndpointRecord:
    """`capabilities` is what the client learned of the endpoint in earlier runs."""

    id: str
    provider: str
    base_url: str
    model: str
    served_name: str
    routing: Mapping[str, Any]
    labels: Mapping[str, Any]
    capabilities: Mapping[str, Any]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ReferenceIdentity:
    """Two references with any of these different are two references. `profiles` are the candidates it was asked for."""

    fingerprint: str
    engine: str
    engine_version: str
    profiles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunStart:
    """A run about to begin. `planned` counts its requests; `check_id` groups the runs of one command."""

    endpoint_id: str
    check_id: str
    probe: ProbeKind
    suite_sha256: str
    suite_version: str
    trigger: Trigger
    config_digest: str
    code_version: str
    planned: int
    reference: ReferenceIdentity | None = None

    @property
    def idempotency_key(self) -> str:
        """What makes it the only run of its check, endpoint and probe."""
        return f"{self.check_id}:{self.endpoint_id}:{self.probe.value}"


@dataclass(frozen=True, slots=True)
class EvidenceRecord:
    """One check of one run, as the verdict shows it.

    `metric` names the check ("logprobs", "fidelity", "accounting", "ttft_p50" …); `counted` says whether its verdict
    takes part in the check's roll-up. `value`, `interval`, `baseline`, `detectable` and `target` are in `unit`.
    `p` is as tested, `adjusted_p` after Holm. Numbers are finite; None is "not known". `detail` is the detector's own,
    of JSON values.
    """

    metric: str
    detector: str
    detector_version: str
    verdict: Verdict
    counted: bool
    reason: str | None = None
    statistic: float | None = None
    p: float | None = None
    adjusted_p: float | None = None
    value: float | None = None
    unit: str | None = None
    interval: Interval | None = None
    baseline: float | None = None
    detectable: float | None = None
    target: float | None = None
    n: int | None = None
    tokens: int | None = None
    causes: tuple[Cause, ...] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MetricPoint:
    """One point of a chart: `value` from `n` samples."""

    metric: str
    value: float
    n: int
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class Enrol:
    """Open a baseline with this run."""

    set_by: str = "first run"


@dataclass(frozen=True, slots=True)
class Join:
    """Add this run to the baseline it was judged against and found unchanged by."""

    baseline_id: str


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended. `error_code` is a code of the error tree; tokens are None where the endpoint told of none, and a
    lower bound where `n_without_usage` answers told of none; money is in millionths of a US dollar, None where price or
    tokens are not known; `baseline` is what the run does to its endpoint's baseline. `scored` are answers to tool-call
    cases, `reference_scored` those that the reference gave; `graded` and `reference_graded` the same of eval items;
    `loops` and `reference_loops` what free agent loops came to; `protocol` is what the protocol probe saw,
    `accumulated` what the runs of tool calls add up to, `stack_changes` what says that the stack was changed;
    `fed` is what it tells its endpoint's streams."""

    status: RunStatus
    error_code: str | None = None
    tokens_in: int | None = 0
    tokens_out: int | None = 0
    n_without_usage: int = 0
    cost_microusd: int | None = None
    served_fingerprint: str | None = None
    observations: Sequence[Observation] = ()
    scored: Sequence[Scored] = ()
    reference_scored: Sequence[Scored] = ()
    protocol: ProtocolFacts | None = None
    accumulated: Accumulated | None = None
    stack_changes: Sequence[str] = ()
    graded: Sequence[Graded] = ()
    reference_graded: Sequence[Graded] = ()
    loops: Sequence[GradedLoop] = ()
    reference_loops: Sequence[GradedLoop] = ()
    evidence: Sequence[EvidenceRecord] = ()
    metric_points: Sequence[MetricPoint] = ()
    baseline: Enrol | Join | None = None
    fed: Fed | None = None


@dataclass(frozen=True, slots=True)
class BaselineMember:
    run_id: str
    role: BaselineRole


@dataclass(frozen=True, slots=True)
class BaselineRecord:
    """A baseline of one probe of one endpoint, and of evals of one suite (empty for other probes); `runs` are in the
    order in which they came in."""

    id: str
    endpoint_id: str
    probe: ProbeKind
    version: int
    status: BaselineStatus
    set_by: str
    note: str | None
    created_at: datetime
    closed_at: datetime | None
    runs: tuple[BaselineMember, ...]
    suite: str = ""


@dataclass(frozen=True, slots=True)
class RunObservations:
    """A run's observations, and the fingerprint of the reference whose expectations they hold."""

    run_id: str
    at: datetime
    reference_fingerprint: str | None
    observations: tuple[Observation, ...]


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as stored. The samples are counted by outcome: answered well, answered badly, not answered. Tokens are None
    where the endpoint told of none, or until the run has ended; `n_without_usage` is None of runs of earlier
    programs."""

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
    tokens_in: int | None
    tokens_out: int | None
    n_without_usage: int | None
    cost_microusd: int | None
    started_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class StoredSample:
    """A sample that an earlier attempt of a check was answered. `exchange` is None once its time has passed."""

    item_key: str
    rep: int
    outcome: Outcome
    exchange: Exchange | None


@dataclass(frozen=True, slots=True)
class ResumedRun:
    """A run that was begun before, and its samples in the order in which they came."""

    run: RunRecord
    samples: tuple[StoredSample, ...]


@dataclass(frozen=True, slots=True)
class CheckRun:
    """A run within a check's history: what it found, and its place in a baseline if it has one."""

    run: RunRecord
    evidence: tuple[EvidenceRecord, ...]
    baseline_role: BaselineRole | None


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """One check: the runs of one command on one endpoint.

    `verdict` is the roll-up of what the runs counted, None while nothing was judged (all failed or still running).
    """

    check_id: str
    endpoint: EndpointRecord
    at: datetime
    verdict: Verdict | None
    runs: tuple[CheckRun, ...]

    @property
    def evidence(self) -> tuple[EvidenceRecord, ...]:
        return tuple(found for run in self.runs for found in run.evidence)

    @property
    def tokens_in(self) -> int | None:
        return _told(part.run.tokens_in for part in self.runs)

    @property
    def tokens_out(self) -> int | None:
        return _told(part.run.tokens_out for part in self.runs)

    @property
    def tokens(self) -> int | None:
        return _told((self.tokens_in, self.tokens_out))

    @property
    def all_told(self) -> bool:
        """Whether the endpoint told of all answers what they used."""
        return not any(part.run.n_without_usage or part.run.tokens_in is None for part in self.runs)

    @property
    def cost_microusd(self) -> int | None:
        """The sum over runs; None where any run's price is not known."""
        costs = [part.run.cost_microusd for part in self.runs]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def enrolled(self) -> bool:
        return any(part.baseline_role is BaselineRole.ENROLMENT for part in self.runs)


def _told(counts: Iterable[int | None]) -> int | None:
    """The sum of what was told; None where nothing was."""
    told = [count for count in counts if count is not None]
    return sum(told) if told else None
