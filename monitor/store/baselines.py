"""Baselines: opened by a run that enrols or that a person accepts, joined by unchanged runs, closed for good."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from monitor.errors import StorageError, UsageError
from monitor.store import standing
from monitor.store.changes import log_change
from monitor.store.ids import new_id
from monitor.store.records import BaselineMember, BaselineRecord, Enrol, Join
from monitor.store.tables import Baseline, BaselineRun, Endpoint, Observation, Run
from monitor.store.vocabulary import BaselineRole, BaselineStatus, ChangeKind, RunStatus
from probes.plan import ProbeKind

_USABLE = (RunStatus.SUCCEEDED, RunStatus.PARTIAL)


def apply_change(session: Session, run: Run, change: Enrol | Join | None, at: datetime) -> BaselineRecord | None:
    """Let a run enrol or join; the baseline it is part of now.

    A run that would enrol where another one did so meanwhile, or join a baseline that was closed meanwhile, stays out:
    it was not judged against what is active now. Raises StorageError for a run without observations.
    """
    if change is None:
        return None
    if not _has_observations(session, run.id):
        raise StorageError(f"Run {run.id} has no observations for a baseline.", remedy="Save it without one.")
    hold(session, run.endpoint_id)
    active = _active(session, run.endpoint_id, run.probe, suite_of(run))
    if isinstance(change, Enrol):
        if active is not None:
            return None
        return _record(session, _open(session, run, change.set_by, None, at))
    if active is None or active.id != change.baseline_id:
        return None
    session.add(BaselineRun(baseline_id=active.id, run_id=run.id, role=BaselineRole.ACCEPTED, added_at=at))
    session.flush()
    return _record(session, active)


def suite_of(run: Run) -> str:
    """The private suite that a run asked, empty of other probes."""
    return run.suite_version.partition("/")[0] if run.probe is ProbeKind.EVALS else ""


def active_baseline(session: Session, endpoint_id: str, probe: ProbeKind, suite: str = "") -> BaselineRecord | None:
    """`suite` names the private suite, of evals."""
    found = _active(session, endpoint_id, probe, suite)
    return None if found is None else _record(session, found)


def all_baselines(session: Session, endpoint_id: str) -> list[BaselineRecord]:
    """Every baseline of an endpoint, by probe and then version, so that the first one can be compared with for ever."""
    of_endpoint = select(Baseline).where(Baseline.endpoint_id == endpoint_id)
    rows = of_endpoint.order_by(Baseline.probe, Baseline.suite, Baseline.version)
    return [_record(session, row) for row in session.scalars(rows).all()]


def members(session: Session, baseline_id: str) -> tuple[BaselineMember, ...]:
    rows = session.execute(
        select(BaselineRun.run_id, BaselineRun.role)
        .join(Run, Run.id == BaselineRun.run_id)
        .where(BaselineRun.baseline_id == baseline_id)
        .order_by(BaselineRun.added_at, Run.started_at)
    )
    return tuple(BaselineMember(run_id, role) for run_id, role in rows)


def accept(
    session: Session,
    endpoint_id: str,
    probe: ProbeKind | None,
    run_id: str | None,
    *,
    note: str,
    at: datetime,
    suite: str | None = None,
) -> list[BaselineRecord]:
    """Make a run the new "unchanged": its endpoint's active baseline closes and the run opens the next one.

    Without `run_id`, the latest run that ended well and holds observations, of `probe` or (None) of each probe, and of
    evals of `suite` or of each suite. A run that opened the active baseline is left in it. Raises UsageError where
    there is no such run.
    """
    note = _checked(note)
    hold(session, endpoint_id)
    if run_id is not None:
        runs = [_named_run(session, endpoint_id, probe, run_id)]
    else:
        probes = list(ProbeKind) if probe is None else [probe]
        runs = _latest_of(session, endpoint_id, probes, suite)
    if not runs:
        raise no_run(endpoint_id, probe)
    return [_record(session, _reopen(session, run, note, at)) for run in runs]


def accept_latest(session: Session, endpoint_id: str, *, note: str, at: datetime) -> list[BaselineRecord]:
    """The same of the latest run of each probe and suite; none where there is no such run."""
    note = _checked(note)
    hold(session, endpoint_id)
    runs = _latest_of(session, endpoint_id, list(ProbeKind), None)
    return [_record(session, _reopen(session, run, note, at)) for run in runs]


def no_run(endpoint_id: str, probe: ProbeKind | None) -> UsageError:
    return UsageError(
        f"Endpoint {endpoint_id} has no finished run" + (f" of {probe.value}" if probe else "") + " to accept.",
        remedy="Run `monitor probe` first.",
    )


def reset(
    session: Session, endpoint_id: str, *, note: str, at: datetime, suite: str | None = None
) -> list[BaselineRecord]:
    """Close every active baseline of an endpoint, or that of one private suite, so that its next saved runs enrol;
    those that were closed."""
    note = _checked(note)
    hold(session, endpoint_id)
    active = session.scalars(
        select(Baseline)
        .where(
            Baseline.endpoint_id == endpoint_id,
            Baseline.status == BaselineStatus.ACTIVE,
            *([] if suite is None else [Baseline.suite == suite]),
        )
        .order_by(Baseline.probe, Baseline.suite)
    ).all()
    for baseline in active:
        _close(session, baseline, at)
        text = f"baseline {_named(baseline)} closed: {note}"
        log_change(session, endpoint_id, ChangeKind.BASELINE, text, at)
    session.flush()
    return [_record(session, baseline) for baseline in active]


def hold(session: Session, endpoint_id: str) -> None:
    """One at a time changes an endpoint's baselines, and what its runs add up to: on a server, two that both found no
    baseline would both open one.

    Rows that refer to the endpoint lock its key for sharing: a lock against that too would make two that have added
    some wait for each other for ever.
    """
    session.execute(select(Endpoint.id).where(Endpoint.id == endpoint_id).with_for_update(key_share=True))


def _checked(note: str) -> str:
    if not note.strip():
        raise UsageError("A baseline is changed only with a note.", remedy='Say why: --note "…".')
    return note.strip()


def _named_run(session: Session, endpoint_id: str, probe: ProbeKind | None, run_id: str) -> Run:
    run = session.scalars(select(Run).where(Run.id == run_id)).one_or_none()
    if run is None or run.endpoint_id != endpoint_id or probe not in (None, run.probe):
        raise UsageError(
            f"Endpoint {endpoint_id} has no run {run_id}" + (f" of {probe.value}." if probe else "."),
            remedy="`monitor history --provider … --json` shows the ids.",
        )
    if run.status not in _USABLE or not _has_observations(session, run_id):
        raise UsageError(
            f"Run {run_id} ({run.probe.value}, {run.status.value}) has nothing that could be a baseline.",
            remedy="Name a run that ended and holds observations.",
        )
    return run


def _latest_of(session: Session, endpoint_id: str, probes: list[ProbeKind], suite: str | None) -> list[Run]:
    return [run for probe in probes for run in _latest_runs(session, endpoint_id, probe, suite)]


def _latest_runs(session: Session, endpoint_id: str, probe: ProbeKind, suite: str | None) -> list[Run]:
    """The latest one of a probe; of evals that of each suite, or of `suite`."""
    usable = (
        Run.endpoint_id == endpoint_id,
        Run.probe == probe,
        Run.status == RunStatus.SUCCEEDED,
        select(Observation.id).where(Observation.run_id == Run.id).exists(),
    )
    latest: dict[str, Run] = {}
    for version in session.scalars(select(Run.suite_version).where(*usable).distinct()).all():
        newest = select(Run).where(*usable, Run.suite_version == version).order_by(Run.started_at.desc(), Run.id.desc())
        for run in session.scalars(newest.limit(1)):
            known = latest.setdefault(suite_of(run), run)
            if (run.started_at, run.id) > (known.started_at, known.id):
                latest[suite_of(run)] = run
    return [latest[name] for name in sorted(latest) if suite in (None, name)]


def _reopen(session: Session, run: Run, note: str, at: datetime) -> Baseline:
    active = _active(session, run.endpoint_id, run.probe, suite_of(run))
    if active is not None:
        first = members(session, active.id)[0]
        if first.run_id == run.id:
            return active
        _close(session, active, at)
        session.flush()
    return _open(session, run, "person", note, at)


def _open(session: Session, run: Run, set_by: str, note: str | None, at: datetime) -> Baseline:
    last = session.scalars(
        select(func.max(Baseline.version)).where(
            Baseline.endpoint_id == run.endpoint_id, Baseline.probe == run.probe, Baseline.suite == suite_of(run)
        )
    ).one()
    baseline = Baseline(
        id=new_id("bl", at),
        endpoint_id=run.endpoint_id,
        probe=run.probe,
        suite=suite_of(run),
        version=(last or 0) + 1,
        status=BaselineStatus.ACTIVE,
        set_by=set_by,
        note=note,
        created_at=at,
    )
    session.add(baseline)
    session.flush()
    session.add(BaselineRun(baseline_id=baseline.id, run_id=run.id, role=BaselineRole.ENROLMENT, added_at=at))
    text = f"baseline {_named(baseline)} opened with {run.id} by {set_by}"
    log_change(session, run.endpoint_id, ChangeKind.BASELINE, text if note is None else f"{text}: {note}", at)
    session.flush()
    return baseline


def _named(baseline: Baseline) -> str:
    of_suite = f" of {baseline.suite}" if baseline.suite else ""
    return f"{baseline.probe.value}{of_suite} v{baseline.version}"


def _close(session: Session, baseline: Baseline, at: datetime) -> None:
    baseline.status = BaselineStatus.CLOSED
    baseline.closed_at = at
    standing.forget(session, baseline.endpoint_id, baseline.probe, baseline.suite)


def _active(session: Session, endpoint_id: str, probe: ProbeKind, suite: str) -> Baseline | None:
    return session.scalars(
        select(Baseline).where(
            Baseline.endpoint_id == endpoint_id,
            Baseline.probe == probe,
            Baseline.suite == suite,
            Baseline.status == BaselineStatus.ACTIVE,
        )
    ).one_or_none()


def _has_observations(session: Session, run_id: str) -> bool:
    return session.scalars(select(Observation.id).where(Observation.run_id == run_id).limit(1)).first() is not None


def _record(session: Session, row: Baseline) -> BaselineRecord:
    return BaselineRecord(
        id=row.id,
        endpoint_id=row.endpoint_id,
        probe=row.probe,
        suite=row.suite,
        version=row.version,
        status=row.status,
        set_by=row.set_by,
        note=row.note,
        created_at=row.created_at,
        closed_at=row.closed_at,
        runs=members(session, row.id),
    )
