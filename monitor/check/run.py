"""One check from end to end, in the caller's process: the same path for the command, the demo and a worker."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING

from monitor import clock
from monitor.check.ask import Kept, Limits, Manner, Stop, ask
from monitor.check.budget import Budget
from monitor.check.finish import AskedCheck
from monitor.check.identity import identity_of
from monitor.check.judge import Judge
from monitor.check.ledger import Ledger, record_of
from monitor.check.options import CheckOptions, Progress
from monitor.check.own import OwnCheck, nothing_broken_off
from monitor.check.plans import Drawn, Estimate, Planned, affordable_plans, ensure_prices, switch_of
from monitor.check.reference import OpenReference, open_reference
from monitor.check.remote_side import RemoteSide
from monitor.config import EndpointConfig
from monitor.datadir import SEED_BYTES, DataDir
from monitor.drift.material import measured_candidates
from monitor.errors import LeaseLostError, StorageError
from monitor.fault_points import FaultPoint, fault_point
from monitor.store import RunStatus, Store
from monitor.verdict import VerdictDocument
from probes.capabilities import Capabilities
from probes.plan import Plan, ProbeKind
from reference_engine.errors import CodedError

if TYPE_CHECKING:
    from monitor.check.border import Asked as Border
    from monitor.check.evals import Grading
    from probes.tools.families.suite import Instance


def run_check(endpoint: EndpointConfig, options: CheckOptions, data: DataDir, progress: Progress) -> VerdictDocument:
    """Probe one endpoint and judge it against its reference, opened for this check.

    Raises a CodedError where no verdict can be given, KeyboardInterrupt where the user stopped it; the samples that
    came are stored by then.
    """
    endpoint.target()  # a missing key should not wait for the weights
    with open_reference(endpoint.reference) as reference:
        return check_against(reference, endpoint, options, data, progress)


def check_against(
    reference: OpenReference, endpoint: EndpointConfig, options: CheckOptions, data: DataDir, progress: Progress
) -> VerdictDocument:
    """`run_check` with a reference that is open already and stays open."""
    endpoint.target()
    if reference.remote is not None:
        reference.remote.target()
        ensure_prices(options.budget, reference.remote.config.prices, f"{reference.remote.name}, the reference")
    # The file's seed makes the anchors; a check that keeps nothing has no anchors to repeat.
    seed = data.seed() if options.save or data.has(data.seed_path) else secrets.token_bytes(SEED_BYTES)
    own = _own(endpoint, options, data)
    planned, estimate = affordable_plans(
        options,
        Drawn(
            seed,
            own.nonce,
            own.at,
            _known(endpoint, options, data),
            pool=_pool(reference, options, data, seed, own.at),
            border=_border(reference, endpoint, options, data, seed, own.at),
            rpm=endpoint.rpm,
            switch=switch_of(endpoint),
        ),
        tokenizer=reference.tokenizer,
        has_reference=reference.answers,
        prices=endpoint.prices,
        beside=reference.beside,
    )
    ours, theirs = estimate.parts(options.budget)
    manner = Manner(Limits(options.timeout, ours, endpoint.prices, estimate.sizes))
    beside = beside_manner(reference, estimate, theirs, options.timeout)
    with _ledger(endpoint, options, data, own) as ledger, _closing(ledger):
        work = Work(endpoint, options.probes, planned, manner, beside=beside)
        done = asked_and_judged(work, reference, ledger, progress)
        ledger.conclude(
            done.status, verdict=done.document.verdict, enrolled=done.document.enrolled, error_code=done.error_code
        )
        return done.document


@dataclass(frozen=True, slots=True)
class BesideManner:
    """How a reference that is another endpoint is asked; `manner` is None where it may not be, for `why_not`. `counted`
    is what of its cost stands in its provider's `day` already, in millionths of a US dollar; None: in no day yet."""

    manner: Manner | None = None
    why_not: str = ""
    counted: int = 0
    day: date | None = None


_NOT_BESIDE = BesideManner()


def beside_manner(
    reference: OpenReference, estimate: Estimate, budget: Budget, timeout: float | None = None
) -> BesideManner:
    """Within its part of a check's budget, at a pace of its own."""
    if reference.remote is None or estimate.beside is None:
        return _NOT_BESIDE
    prices, sizes = reference.remote.config.prices, estimate.beside.sizes
    return BesideManner(Manner(Limits(timeout, budget, prices, sizes)))


@dataclass(frozen=True, slots=True)
class Work:
    """What a check is to do: the plans to send, how, and by which probes the answers are judged; `answering_s` is the
    time that the reference has to answer as well, None for as long as it takes; `rounds_a_day`: how many such checks
    are made, None where nothing schedules them; `beside`: how a reference is asked that is another endpoint."""

    endpoint: EndpointConfig
    probes: Sequence[ProbeKind]
    planned: Planned
    manner: Manner
    answering_s: float | None = None
    rounds_a_day: int | None = None
    beside: BesideManner = _NOT_BESIDE


@dataclass(frozen=True, slots=True)
class Done:
    """What came of it; `stop` is why not everything was sent."""

    document: VerdictDocument
    stop: Stop | None

    @property
    def status(self) -> RunStatus:
        return RunStatus.SUCCEEDED if self.stop is None else RunStatus.PARTIAL

    @property
    def error_code(self) -> str | None:
        return None if self.stop is None else self.stop.value


def asked_and_judged(work: Work, reference: OpenReference, ledger: Ledger, progress: Progress) -> Done:
    """Send what was not sent yet, judge what was not judged yet, and close the runs; the check itself stays open.

    Raises the ProbeError or the interruption that ended the asking, and what the brake was pulled for.
    """
    with _kept(work.planned, reference, ledger) as (kept, grading):
        return _asked_and_judged(work, reference, ledger, progress, kept, grading)


def _asked_and_judged(
    work: Work, reference: OpenReference, ledger: Ledger, progress: Progress, kept: Kept, grading: Grading | None
) -> Done:
    started, endpoint = clock.now(), work.endpoint
    code_version = version("endpoint-monitor")
    begun = {plan.probe: ledger.begin(plan, endpoint, code_version, reference.identity) for plan in work.planned.plans}
    to_ask = [run.to_ask for run in begun.values()]
    remote = _remote_side(work, reference, ledger, progress)
    progress.begin(_steps(to_ask, reference, 0 if remote is None else remote.foreseen), "asking")
    asked = ask(
        endpoint.target(),
        ledger.capabilities.to_dict(),
        to_ask,
        work.manner,
        before={probe: run.samples for probe, run in begun.items()},
        kept=kept,
        progress=progress,
        beside=remote,
    )
    ledger.charge = asked.charge
    if remote is not None:
        ledger.count_beside(remote, work.beside.day or clock.now().date(), work.beside.counted)
    ledger.save_capabilities(asked.capabilities)
    for graded in () if grading is None else grading.rest():
        ledger.keep_grades(graded)
    if asked.error is not None:
        raise asked.error
    fault_point(FaultPoint.AFTER_ASKING)
    with reference.turn:
        judge = Judge(
            reference,
            work.probes,
            progress,
            nonce=work.planned.nonce,
            answering_s=work.answering_s,
            remote=remote,
        )
        asked_check = AskedCheck(endpoint, ledger, work.planned, asked, judge, grading, work.rounds_a_day)
        return Done(asked_check.finish(started), asked.stop)


def _remote_side(work: Work, reference: OpenReference, ledger: Ledger, progress: Progress) -> RemoteSide | None:
    if reference.remote is None:
        return None
    return RemoteSide(
        reference.remote,
        work.planned,
        work.beside.manner,
        progress,
        capabilities=ledger.capabilities_of(reference.remote.config),
        within_s=work.answering_s,
        judged=[plan.probe for plan in work.planned.plans if ledger.found_before(plan.probe) is not None],
        why_not=work.beside.why_not,
    )


@contextlib.contextmanager
def _kept(planned: Planned, reference: OpenReference, ledger: Ledger) -> Iterator[tuple[Kept, Grading | None]]:
    """Where samples go; where a private suite is asked, as grades of its items. Raises IsolationError."""
    if planned.evals is None:
        yield ledger, None
        return
    # Here: a process that asks no evals has no use for what grades them.
    from monitor.check.evals import Grading, KeptGrades, judge_in_turn

    judge = judge_in_turn(reference) if planned.evals.needs_judge else None
    with contextlib.closing(Grading(planned.evals, judge)) as grading:
        yield KeptGrades(ledger, grading), grading


def _known(endpoint: EndpointConfig, options: CheckOptions, data: DataDir) -> Capabilities:
    """What earlier runs learned of the endpoint: trials of parameters go out as they are planned, and learn nothing."""
    if ProbeKind.PROTOCOL not in options.probes or not _has_database(data):
        return Capabilities()
    with Ledger.reading(data, endpoint) as ledger:
        return ledger.capabilities


def _pool(
    reference: OpenReference, options: CheckOptions, data: DataDir, seed: bytes, at: datetime
) -> Sequence[Instance] | None:
    """What calibration kept of the ambiguous tool-call prompts."""
    if ProbeKind.TOOL_CALLS not in options.probes or reference.engine is None or not _has_database(data):
        return None
    from monitor.check.calibrated import calibrated_pool

    with Store.open(data.database, at=at) as store:
        return calibrated_pool(reference, seed, at, store.sessions)


def _border(
    reference: OpenReference,
    endpoint: EndpointConfig,
    options: CheckOptions,
    data: DataDir,
    seed: bytes,
    at: datetime,
) -> Border | None:
    if ProbeKind.BORDER not in options.probes:
        return None
    from monitor.check.border import Pool, asked_of

    if not options.save and not _has_database(data):
        return asked_of(Pool(reference, seed, None), None, at)
    with Store.open(data.database, at=at) as store:
        record = record_of(store, identity_of(endpoint))
        return asked_of(Pool(reference, seed, store.sessions), None if record is None else record.id, at)


def _own(endpoint: EndpointConfig, options: CheckOptions, data: DataDir) -> OwnCheck:
    at = clock.now()
    if not options.resume:
        return OwnCheck.new(options, at)
    if not _has_database(data):
        raise nothing_broken_off()
    with Ledger.reading(data, endpoint) as ledger:
        return ledger.broken_off_check(options, at)


def _ledger(endpoint: EndpointConfig, options: CheckOptions, data: DataDir, own: OwnCheck) -> Ledger:
    if options.save:
        return Ledger.saving(data, endpoint, options.keep_bodies, own)
    return Ledger.reading(data, endpoint) if _has_database(data) else Ledger.empty()


def _has_database(data: DataDir) -> bool:
    return data.database_url is not None or data.has(data.database_path)


@contextlib.contextmanager
def _closing(ledger: Ledger) -> Iterator[None]:
    """Leave no run open: whatever went wrong, from the first request to the verdict, is written to it."""
    try:
        yield
    except KeyboardInterrupt:
        _abandon(ledger, RunStatus.CANCELLED, Stop.INTERRUPTED.value)
        raise
    except Exception as error:
        _abandon(ledger, RunStatus.FAILED, error.code if isinstance(error, CodedError) else CodedError.code)
        raise


def _abandon(ledger: Ledger, status: RunStatus, error_code: str) -> None:
    # The database itself may be what failed, or the check another's by now.
    with contextlib.suppress(StorageError, LeaseLostError):
        ledger.abandon(status, error_code)


def _steps(plans: Sequence[Plan], reference: OpenReference, beside: int) -> int:
    candidates = 0 if reference.engine is None else len(measured_candidates(reference.allowed))
    return sum(len(plan.foreseen) for plan in plans) + candidates + beside
