"""Observations between their rows and their values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlalchemy import and_, delete, func, select
from sqlalchemy.orm import Session

from monitor.store.pages import pages
from monitor.store.records import RunObservations, RunResult
from monitor.store.tables import Observation as ObservationRow
from monitor.store.tables import Reference, Run
from probes.plan import ProbeKind

if TYPE_CHECKING:
    from monitor.drift.accumulated import Accumulated
    from monitor.drift.observation import Observation
    from monitor.drift.protocol import ProtocolFacts
    from probes.evals.grade import Graded
    from probes.loops.graded import GradedLoop
    from probes.tools.scored import Scored

_REFERENCE = "reference-"
_PROTOCOL = "protocol"
_ACCUMULATED = "accumulated"
_LOOP = "loop-"


def observation_rows(run_id: str, observations: Sequence[Observation]) -> list[ObservationRow]:
    # Here and below: numpy is a tenth of what a web process weighs, and it reads no observations.
    from monitor.store.codec import encode

    return [ObservationRow(run_id=run_id, item_key=one.item_key, rep=one.rep, blob=encode(one)) for one in observations]


def scored_rows(run_id: str, result: RunResult) -> list[ObservationRow]:
    """Each answer once, by its case, its mode and its repeat; the reference's have a mark of their own."""
    from monitor.store.scored import encode_scored

    sides = (("", result.scored), (_REFERENCE, result.reference_scored))
    return [
        ObservationRow(run_id=run_id, item_key=f"{mark}{one.item_key}", rep=one.rep, blob=encode_scored(one))
        for mark, side in sides
        for one in side
    ]


def scored_of(session: Session, run_ids: Sequence[str]) -> list[Scored]:
    """The endpoint's scored answers of these runs, beside which those of agent loops have what these came to."""
    from monitor.store.scored import decode_scored

    found: list[Scored] = []
    for some in pages(run_ids):
        marked = (ObservationRow.item_key.not_like(f"{mark}%") for mark in (_REFERENCE, _LOOP))
        own = and_(*marked, ObservationRow.item_key != _ACCUMULATED)
        rows = select(ObservationRow.blob).where(ObservationRow.run_id.in_(some), own).order_by(ObservationRow.id)
        found += map(decode_scored, session.scalars(rows))
    return found


def reference_scored_of(session: Session, run_ids: Sequence[str]) -> list[Scored]:
    """The reference's scored answers of these runs, of each item and repeat the first."""
    from monitor.store.scored import decode_scored

    first: dict[tuple[str, int], int] = {}
    for some in pages(run_ids):
        theirs = (ObservationRow.run_id.in_(some), ObservationRow.item_key.like(f"{_REFERENCE}%"))
        row = (ObservationRow.item_key, ObservationRow.rep)
        for key, rep, one in session.execute(select(*row, func.min(ObservationRow.id)).where(*theirs).group_by(*row)):
            first[key, rep] = min(one, first.get((key, rep), one))
    found: list[Scored] = []
    for ids in pages(sorted(first.values())):
        rows = select(ObservationRow.blob).where(ObservationRow.id.in_(ids)).order_by(ObservationRow.id)
        found += map(decode_scored, session.scalars(rows))
    return found


def runs_drawn_alike(
    session: Session, run_ids: Sequence[str], suite_version: str, fingerprint: str | None = None
) -> list[str]:
    """Those of the runs whose cases were drawn by this version, and that had the reference of this fingerprint."""
    wanted = [Run.suite_version == suite_version]
    if fingerprint is not None:
        wanted.append(Reference.fingerprint == fingerprint)
    found: set[str] = set()
    for some in pages(run_ids):
        runs = select(Run.id).outerjoin(Reference, Reference.id == Run.reference_id).where(Run.id.in_(some), *wanted)
        found |= {*session.scalars(runs)}
    return [run_id for run_id in run_ids if run_id in found]


def scored_by_item(session: Session, run_id: str) -> dict[tuple[str, int], Scored]:
    """The endpoint's scored answers of one run, by the item and repeat that they answer."""
    return {(one.item_key, one.rep): one for one in scored_of(session, [run_id])}


def loop_rows(run_id: str, result: RunResult) -> list[ObservationRow]:
    """Each loop once, by its key, which begins as no case's does, and its trial; the reference's have a mark of their
    own."""
    from monitor.store.loops import encode_loop

    sides = (("", result.loops), (_REFERENCE, result.reference_loops))
    return [
        ObservationRow(run_id=run_id, item_key=f"{mark}{one.key}", rep=one.rep, blob=encode_loop(one))
        for mark, side in sides
        for one in side
    ]


def loops_of(session: Session, run_ids: Sequence[str]) -> list[GradedLoop]:
    """What the endpoint's free loops of these runs came to."""
    from monitor.store.loops import decode_loop

    found: list[GradedLoop] = []
    for some in pages(run_ids):
        own = ObservationRow.item_key.like(f"{_LOOP}%")
        rows = select(ObservationRow.blob).where(ObservationRow.run_id.in_(some), own).order_by(ObservationRow.id)
        found += map(decode_loop, session.scalars(rows))
    return found


def protocol_rows(run_id: str, result: RunResult) -> list[ObservationRow]:
    if result.protocol is None:
        return []
    from monitor.store.protocol_facts import encode_facts

    return [ObservationRow(run_id=run_id, item_key=_PROTOCOL, rep=0, blob=encode_facts(result.protocol))]


def protocol_of(session: Session, run_ids: Sequence[str]) -> list[ProtocolFacts]:
    from monitor.store.protocol_facts import decode_facts

    found: list[ProtocolFacts] = []
    for some in pages(run_ids):
        own = ObservationRow.item_key == _PROTOCOL
        rows = select(ObservationRow.blob).where(ObservationRow.run_id.in_(some), own).order_by(ObservationRow.id)
        found += map(decode_facts, session.scalars(rows))
    return found


def last_accumulated(session: Session, endpoint_id: str) -> Accumulated | None:
    """As the last run of the endpoint left it that was judged against a baseline."""
    from monitor.store.accumulated import decode_accumulated

    found = _accumulated(session, endpoint_id)
    return None if found is None else decode_accumulated(found.blob)


def keep_accumulated(session: Session, run: Run, result: RunResult) -> None:
    """In place of what the last run left. The caller holds the endpoint: of two runs that were judged at once, the
    second is added to what the first one left."""
    from monitor.store.accumulated import decode_accumulated, encode_accumulated

    kept = result.accumulated
    if kept is None:
        return
    before = _accumulated(session, run.endpoint_id)
    if before is not None:
        kept = kept.on_top_of(decode_accumulated(before.blob), result.scored)
        session.execute(delete(ObservationRow).where(ObservationRow.id == before.id))
    session.add(ObservationRow(run_id=run.id, item_key=_ACCUMULATED, rep=0, blob=encode_accumulated(kept)))


def _accumulated(session: Session, endpoint_id: str) -> ObservationRow | None:
    rows = (
        select(ObservationRow)
        .join(Run, Run.id == ObservationRow.run_id)
        .where(
            Run.endpoint_id == endpoint_id, Run.probe == ProbeKind.TOOL_CALLS, ObservationRow.item_key == _ACCUMULATED
        )
        .order_by(Run.started_at.desc(), Run.id.desc())
        .limit(1)
    )
    return session.scalars(rows).first()


def graded_rows(run_id: str, result: RunResult) -> list[ObservationRow]:
    """Each grade once; the reference's have a mark of their own."""
    return grade_rows(run_id, result.graded) + grade_rows(run_id, result.reference_graded, _REFERENCE)


def grade_rows(run_id: str, graded: Sequence[Graded], mark: str = "") -> list[ObservationRow]:
    """By the item's hash and its repeat."""
    from monitor.store.grades import encode_grade

    return [
        ObservationRow(run_id=run_id, item_key=f"{mark}{one.item}", rep=one.rep, blob=encode_grade(one))
        for one in graded
    ]


def graded_of(session: Session, run_ids: Sequence[str]) -> list[list[Graded]]:
    """The endpoint's grades of each of these runs, in the order of `run_ids`."""
    from monitor.store.grades import decode_grade

    found: defaultdict[str, list[Graded]] = defaultdict(list)
    for some in pages(run_ids):
        own = ObservationRow.item_key.not_like(f"{_REFERENCE}%")
        rows = select(ObservationRow.run_id, ObservationRow.blob).where(ObservationRow.run_id.in_(some), own)
        for run_id, blob in session.execute(rows.order_by(ObservationRow.id)):
            found[run_id].append(decode_grade(blob))
    return [found[run_id] for run_id in run_ids]


def observations_of(session: Session, run_ids: Sequence[str]) -> list[RunObservations]:
    """The observations of each run, in the order of `run_ids` and, within a run, in which they were given."""
    return [one for some in pages(run_ids) for one in _page(session, some)]


def _page(session: Session, run_ids: Sequence[str]) -> list[RunObservations]:
    from monitor.store.codec import decode

    rows = session.execute(
        select(ObservationRow.run_id, ObservationRow.blob)
        .where(ObservationRow.run_id.in_(run_ids))
        .order_by(ObservationRow.id)
    )
    decoded: defaultdict[str, list[Observation]] = defaultdict(list)
    for run_id, blob in rows:
        decoded[run_id].append(decode(blob))
    runs = session.execute(
        select(Run.id, Run.started_at, Reference.fingerprint)
        .outerjoin(Reference, Reference.id == Run.reference_id)
        .where(Run.id.in_(run_ids))
    )
    found = {
        run_id: RunObservations(run_id, started_at, fingerprint, tuple(decoded[run_id]))
        for run_id, started_at, fingerprint in runs
    }
    return [found[run_id] for run_id in run_ids if run_id in found]
