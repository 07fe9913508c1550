"""What checks have said, as the alert machine takes it in: one check that has just ended, or the past for a replay."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from monitor.alerts.bearing import MOVED
from monitor.alerts.signals import Failed, Verdicted
from monitor.standing import STREAMS, is_fidelity
from monitor.store.tables import Evidence, Run
from monitor.store.vocabulary import RunStatus, Trigger

# Errors of ours (a lost worker, a spent budget) do not mean that the endpoint does not answer.
PROVIDER_ERRORS = "provider_"


def check_signals(session: Session, check_id: str) -> list[Verdicted | Failed]:
    """What an ended check says, whose evidence is in the database: one signal a metric, or that it failed."""
    found = _signals(session, Run.check_id == check_id)
    return [signal for signals in found.values() for signal in signals]


def past_signals(session: Session, since: datetime) -> dict[str, list[Verdicted | Failed]]:
    """What every endpoint's checks have said from `since` on, in order of time, by endpoint id."""
    return _signals(session, Run.started_at >= since)


def _signals(session: Session, which: ColumnElement[bool]) -> dict[str, list[Verdicted | Failed]]:
    found: defaultdict[str, list[Verdicted | Failed]] = defaultdict(list)
    judged = set()
    for run, evidence in _evidence(session, which):
        judged.add(run.check_id)
        # Standing findings are said once and shown always; what alerts is movement.
        if evidence.counted and not is_fidelity(evidence.metric):
            found[run.endpoint_id].append(_verdicted(run, evidence))
    for runs in _unjudged(session, which, judged):
        codes = [run.error_code for run in runs if (run.error_code or "").startswith(PROVIDER_ERRORS)]
        if codes:
            at = max(run.finished_at or run.started_at for run in runs)
            found[runs[0].endpoint_id].append(Failed(runs[0].check_id, at, str(codes[0])))
    return {endpoint_id: _in_order(signals) for endpoint_id, signals in found.items()}


def _in_order(signals: list[Verdicted | Failed]) -> list[Verdicted | Failed]:
    """By the end of their checks. An alert takes one signal of a check, and what says how many requests came through
    knows more of whether the endpoint answers than any other verdict of it."""
    ended: dict[str, datetime] = {}
    for signal in signals:
        ended[signal.check_id] = max(signal.at, ended.get(signal.check_id, signal.at))

    def place(signal: Verdicted | Failed) -> tuple[datetime, str, bool, datetime]:
        last = not (isinstance(signal, Verdicted) and signal.of_availability and signal.verdict in MOVED)
        return ended[signal.check_id], signal.check_id, last, signal.at

    return sorted(signals, key=place)


def _evidence(session: Session, which: ColumnElement[bool]) -> Iterable[tuple[Run, Evidence]]:
    query = select(Run, Evidence).join(Evidence, Evidence.run_id == Run.id).where(which)
    return ((run, evidence) for run, evidence in session.execute(query.order_by(Evidence.id)))


def _unjudged(session: Session, which: ColumnElement[bool], judged: set[str]) -> Iterable[Sequence[Run]]:
    """The runs of each check that ended without any evidence, all of them failed."""
    checks: defaultdict[str, list[Run]] = defaultdict(list)
    for run in session.scalars(select(Run).where(which).order_by(Run.started_at, Run.id)):
        if run.check_id not in judged:
            checks[run.check_id].append(run)
    return (runs for runs in checks.values() if all(run.status is RunStatus.FAILED for run in runs))


def _verdicted(run: Run, evidence: Evidence) -> Verdicted:
    return Verdicted(
        check_id=run.check_id,
        at=evidence.created_at,
        metric=evidence.metric,
        verdict=evidence.verdict,
        fresh=run.trigger is Trigger.CONFIRM,
        proven=evidence.metric == STREAMS,
        finding=_finding(run, evidence),
    )


def _finding(run: Run, evidence: Evidence) -> dict[str, Any]:
    known = evidence.ci_low is not None and evidence.ci_high is not None
    return {
        "value": evidence.value,
        "baseline": evidence.baseline,
        "unit": evidence.unit,
        "ci": [evidence.ci_low, evidence.ci_high] if known else None,
        "n": evidence.n,
        "p": evidence.p if evidence.adjusted_p is None else evidence.adjusted_p,
        "detector": f"{evidence.detector}/{evidence.detector_version}",
        "causes": evidence.effect.get("causes", []),
        "runs": [run.id],
    }
