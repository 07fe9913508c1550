"""A run from its start to its end. Its end is one transaction: all of its result is there, or the run still runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, and_, delete, func, or_, select
from sqlalchemy.orm import Session

from monitor.errors import StorageError
from monitor.store import standing
from monitor.store.baselines import apply_change, hold, suite_of
from monitor.store.changes import log_change
from monitor.store.endpoints import find_endpoint, use_reference
from monitor.store.evidence import evidence_row, point_row
from monitor.store.ids import new_id
from monitor.store.observations import keep_accumulated
from monitor.store.pages import pages
from monitor.store.records import BaselineRecord, RunRecord, RunResult, RunStart
from monitor.store.rollups import add_to_rollups
from monitor.store.stack_news import tell_stack_changes
from monitor.store.tables import EndpointCheck, Observation, Reference, Run, Sample
from monitor.store.text import foreign_id
from monitor.store.vocabulary import ChangeKind, RunStatus
from probes.plan import Outcome, ProbeKind

if TYPE_CHECKING:
    from monitor.store.stream_records import Fed

# The run's process is gone, or was silent for too long: a code of its own, since no error was met.
ABANDONED = "abandoned"

_BROKEN_OFF = (RunStatus.PARTIAL, RunStatus.CANCELLED, RunStatus.FAILED)
_BAD = (Outcome.WRONG, Outcome.INVALID, Outcome.REFUSED)
_ERROR = (Outcome.HTTP_ERROR, Outcome.TIMEOUT, Outcome.RATE_LIMITED)


def begin(session: Session, start: RunStart, owner: str, at: datetime) -> str:
    """Enter a run as running; its id. Raises StorageError where the check has one of this probe and endpoint."""
    find_endpoint(session, start.endpoint_id)
    key = start.idempotency_key
    if session.scalars(select(Run.id).where(Run.idempotency_key == key)).first() is not None:
        raise StorageError(
            f"Check {start.check_id} has a run of {start.probe.value} on {start.endpoint_id} already.",
            remedy="Begin a new check.",
        )
    run = Run(
        id=new_id("run", at),
        check_id=start.check_id,
        endpoint_id=start.endpoint_id,
        reference_id=_reference_id(session, start, at),
        probe=start.probe,
        trigger=start.trigger,
        status=RunStatus.RUNNING,
        idempotency_key=key,
        owner=owner,
        suite_sha256=start.suite_sha256,
        suite_version=start.suite_version,
        config_digest=start.config_digest,
        code_version=start.code_version,
        planned=start.planned,
        n_ok=0,
        n_bad=0,
        n_err=0,
        started_at=at,
    )
    session.add(run)
    return run.id


def _reference_id(session: Session, start: RunStart, at: datetime) -> str | None:
    return None if start.reference is None else use_reference(session, start.endpoint_id, start.reference, at)


def resume(session: Session, start: RunStart, owner: str, at: datetime) -> str | None:
    """The run that was begun as `start`; its id, None where none was. One that still runs is `owner`'s now, and judged
    against `start`'s reference."""
    run = session.scalars(
        select(Run).where(Run.idempotency_key == start.idempotency_key).with_for_update()
    ).one_or_none()
    if run is None:
        return None
    if run.status is RunStatus.RUNNING:
        run.owner = owner
        run.reference_id = _reference_id(session, start, at)
        session.flush()
    return run.id


def broken_off(session: Session, endpoint_id: str, suite_sha256: str, since: datetime) -> str | None:
    """The last run of a suite of evals, if it began after `since` and ended before its time."""
    last = (
        select(Run.id, Run.status)
        .where(
            Run.endpoint_id == endpoint_id,
            Run.probe == ProbeKind.EVALS,
            Run.suite_sha256 == suite_sha256,
            Run.started_at > since,
        )
        .order_by(Run.started_at.desc(), Run.id.desc())
        .limit(1)
    )
    found = session.execute(last).one_or_none()
    return found.id if found is not None and found.status in _BROKEN_OFF else None


def running(session: Session, run_id: str) -> Run:
    """The run, held against other writers until the transaction ends. Raises StorageError unless it is running."""
    run = session.scalars(select(Run).where(Run.id == run_id).with_for_update()).one_or_none()
    if run is None:
        raise StorageError(f"There is no run {run_id}.", remedy="Begin it first.")
    if run.status is not RunStatus.RUNNING:
        raise StorageError(
            f"Run {run_id} is not running but {run.status.value}" + (f": {run.error_code}." if run.error_code else "."),
            remedy="Run the command again; what was stored of this run stays.",
        )
    return run


def finish(
    session: Session, run_id: str, result: RunResult, observations: Sequence[Observation], at: datetime
) -> BaselineRecord | None:
    """Close a running run with everything it found (`observations` are the rows of the result's); the baseline it is
    part of now, if any."""
    if not result.status.finished:
        raise StorageError(f"A run cannot end as {result.status.value}.", remedy="Give the status it ended with.")
    run = running(session, run_id)
    _log_new_fingerprint(session, run, foreign_id(result.served_fingerprint, 256), at)
    tell_stack_changes(session, run, result, at)
    run.status = result.status
    run.error_code = result.error_code
    run.tokens_in = result.tokens_in
    run.tokens_out = result.tokens_out
    run.n_without_usage = result.n_without_usage
    run.cost_microusd = result.cost_microusd
    run.finished_at = at
    _count_outcomes(session, run)
    if observations:
        # Grades that were kept as they came are among them.
        session.execute(delete(Observation).where(Observation.run_id == run_id))
    session.add_all(observations)
    evidence = [evidence_row(run, found, at) for found in result.evidence]
    session.add_all(evidence)
    session.add_all([point_row(run, point) for point in result.metric_points])
    add_to_rollups(session, run.endpoint_id, run.started_at, result.metric_points)
    session.flush()
    standing.follow(session, run, suite_of(run), evidence, at)
    if result.accumulated is not None:
        # No earlier: whoever changes a baseline has written to the tables above by then.
        hold(session, run.endpoint_id)
        keep_accumulated(session, run, result)
    baseline = apply_change(session, run, result.baseline, at)
    if result.fed is not None:
        _feed(session, run, result.fed, at)
    return baseline


def _feed(session: Session, run: Run, fed: Fed, at: datetime) -> None:
    """What the streams come to is evidence of this run beside its own."""
    # Here: numpy is a tenth of what a web process weighs, and it feeds no streams.
    from monitor.store.feeding import feed

    told = feed(session, run, fed, at)
    if told is not None:
        row = evidence_row(run, told, at)
        session.add(row)
        session.flush()
        standing.follow(session, run, "", [row], at)


def _log_new_fingerprint(session: Session, run: Run, fingerprint: str | None, at: datetime) -> None:
    """Keep the fingerprint that the endpoint gave of its stack; one never seen there before is a change."""
    run.served_fingerprint = fingerprint
    if fingerprint is None:
        return
    earlier = select(Run.served_fingerprint).where(
        Run.endpoint_id == run.endpoint_id, Run.served_fingerprint.is_not(None), Run.id != run.id
    )
    last = session.scalars(earlier.order_by(Run.started_at.desc()).limit(1)).first()
    seen = session.scalars(earlier.where(Run.served_fingerprint == fingerprint).limit(1)).first()
    if last is not None and seen is None:
        text = f"served fingerprint: {last} before, {fingerprint} now"
        log_change(session, run.endpoint_id, ChangeKind.FINGERPRINT, text, at)


def _count_outcomes(session: Session, run: Run) -> None:
    # Only what was sent to be answered or refused is refused without an error: that is its answer.
    answer = and_(Sample.outcome == Outcome.REFUSED, Sample.error_code.is_(None))
    counted = session.execute(
        select(Sample.outcome, answer, func.count()).where(Sample.run_id == run.id).group_by(Sample.outcome, answer)
    )
    counts: Counter[Outcome] = Counter()
    for outcome, is_answer, count in counted:
        counts[Outcome.OK if is_answer else outcome] += count
    run.n_ok = counts[Outcome.OK]
    run.n_bad = sum(counts[outcome] for outcome in _BAD)
    run.n_err = sum(counts[outcome] for outcome in _ERROR)


def abandoned(session: Session, at: datetime, older_than: timedelta, is_gone: Callable[[str], bool]) -> list[str]:
    """The running runs whose process is gone, or that began more than `older_than` ago, but for those that the queue
    will give to another process."""
    queued = select(EndpointCheck.id).where(
        EndpointCheck.id == Run.check_id,
        or_(EndpointCheck.status == RunStatus.QUEUED, EndpointCheck.lease_until.is_not(None)),
    )
    rows = session.execute(
        select(Run.id, Run.owner, Run.started_at)
        .where(Run.status == RunStatus.RUNNING, ~queued.exists())
        .order_by(Run.started_at)
    )
    return [run_id for run_id, owner, started_at in rows if started_at < at - older_than or is_gone(owner)]


def fail_abandoned(session: Session, run_ids: Sequence[str], at: datetime) -> None:
    """Mark those of the runs that are still running as failed; their samples stay."""
    _close(session, Run.id.in_(run_ids), RunStatus.FAILED, ABANDONED, at)


def close_runs(session: Session, check_ids: Sequence[str], status: RunStatus, error_code: str, at: datetime) -> None:
    """End what still runs of checks that were ended from outside; the samples stay."""
    for some in pages(check_ids):
        _close(session, Run.check_id.in_(some), status, error_code, at)


def reopen_runs(session: Session, check_id: str, owner: str) -> int:
    """Let those runs of a check go on that ended before their time; what they were entered to cost, in micro-USD."""
    ended = select(Run).where(Run.check_id == check_id, Run.status.in_((RunStatus.CANCELLED, RunStatus.FAILED)))
    settled = 0
    for run in session.scalars(ended.order_by(Run.id).with_for_update()).all():
        settled += run.cost_microusd or 0
        run.status = RunStatus.RUNNING
        run.owner = owner
        run.error_code = run.finished_at = None
    session.flush()
    return settled


def _close(session: Session, which: ColumnElement[bool], status: RunStatus, error_code: str, at: datetime) -> None:
    still = select(Run).where(which, Run.status == RunStatus.RUNNING).order_by(Run.id).with_for_update()
    for run in session.scalars(still).all():
        run.status = status
        run.error_code = error_code
        run.finished_at = at
        _count_outcomes(session, run)


def run_records(session: Session, run_ids: Sequence[str]) -> dict[str, RunRecord]:
    rows = session.execute(
        select(Run, Reference.fingerprint)
        .outerjoin(Reference, Reference.id == Run.reference_id)
        .where(Run.id.in_(run_ids))
    )
    return {run.id: _record(run, fingerprint) for run, fingerprint in rows}


def _record(run: Run, reference_fingerprint: str | None) -> RunRecord:
    return RunRecord(
        id=run.id,
        check_id=run.check_id,
        endpoint_id=run.endpoint_id,
        probe=run.probe,
        trigger=run.trigger,
        status=run.status,
        error_code=run.error_code,
        suite_sha256=run.suite_sha256,
        suite_version=run.suite_version,
        config_digest=run.config_digest,
        code_version=run.code_version,
        reference_fingerprint=reference_fingerprint,
        served_fingerprint=run.served_fingerprint,
        planned=run.planned,
        n_ok=run.n_ok,
        n_bad=run.n_bad,
        n_err=run.n_err,
        tokens_in=run.tokens_in,
        tokens_out=run.tokens_out,
        n_without_usage=run.n_without_usage,
        cost_microusd=run.cost_microusd,
        started_at=run.started_at,
        finished_at=run.finished_at,
    )
