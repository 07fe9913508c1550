"""The store: every question that the service asks its database, and every fact that it writes there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy.orm import Session

from monitor.errors import UsageError
from monitor.store import baselines, endpoints, history, queue, queue_sweep, retention, runs, samples, schema
from monitor.store.access import audit
from monitor.store.alert_steps import accept_change
from monitor.store.bodies import Exchange
from monitor.store.database import Database
from monitor.store.entries import Lease
from monitor.store.evidence import evidence_of, screened
from monitor.store.observations import (
    grade_rows,
    graded_of,
    graded_rows,
    last_accumulated,
    loop_rows,
    loops_of,
    observation_rows,
    observations_of,
    protocol_of,
    protocol_rows,
    reference_scored_of,
    runs_drawn_alike,
    scored_by_item,
    scored_of,
    scored_rows,
)
from monitor.store.pages import pages
from monitor.store.process import is_gone, this_process
from monitor.store.records import (
    BaselineRecord,
    CheckRecord,
    EndpointIdentity,
    EndpointRecord,
    EvidenceRecord,
    ResumedRun,
    RunObservations,
    RunRecord,
    RunResult,
    RunStart,
)
from monitor.store.session import Sessions
from probes.plan import ProbeKind, Sample

if TYPE_CHECKING:
    from monitor.drift.accumulated import Accumulated
    from monitor.drift.protocol import ProtocolFacts
    from monitor.store.stream_acceptance import Acceptance
    from probes.evals.grade import Graded
    from probes.loops.graded import GradedLoop
    from probes.tools.scored import Scored

# Longer than any run may take, so that only a run whose process cannot be asked (another host's) waits for it.
ABANDONED_AFTER = timedelta(days=1)


class Store:
    """One database. Every method is one transaction (`add_samples`: one a batch) and raises StorageError where the
    database cannot do it: nothing is half-written then. Times (`at`) are aware. Safe to share between threads."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    @classmethod
    def open(
        cls,
        path_or_url: Path | str,
        *,
        at: datetime,
        abandoned_after: timedelta = ABANDONED_AFTER,
        keep_bodies: timedelta | None = None,
    ) -> Store:
        """Open a database: created whole if it is new or (on a server) empty, upgraded (after a backup) if it is an
        older SQLite file.

        Checks and runs that a dead process left running, or that began more than `abandoned_after` ago, are marked
        failed ("abandoned"), but for those that the queue gives to another process. Bodies are deleted that are older
        than the stored configuration keeps them, or than `keep_bodies` where none is stored. Raises SchemaVersionError
        for a newer schema, or an older one on a server, StorageError for anything else that cannot be used.
        """
        database = Database.named(path_or_url)
        schema.prepare(database, at)
        store = cls(Sessions(database))
        try:
            store._tidy(at, abandoned_after, keep_bodies)
        except BaseException:
            store.close()
            raise
        return store

    @property
    def sessions(self) -> Sessions:
        """The ways into the same database, for the other facades."""
        return self._sessions

    def close(self) -> None:
        self._sessions.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _tidy(self, at: datetime, abandoned_after: timedelta, keep_bodies: timedelta | None) -> None:
        """Look first: a database without anything to tidy needs no write lock."""
        with self._sessions.read() as session:
            checks = queue_sweep.abandoned(session, at, abandoned_after, is_gone)
            abandoned = runs.abandoned(session, at, abandoned_after, is_gone)
            kept = retention.bodies_kept(session) or keep_bodies
            old = kept is not None and bool(retention.old_bodies(session, at - kept, at))
        if not checks and not abandoned and not old:
            return
        with self._sessions.write() as session:
            queue_sweep.fail_abandoned(session, checks, at)
            runs.fail_abandoned(session, abandoned, at)
            if kept is not None:
                retention.bodies(session, at - kept, at)
        self._sessions.give_back_space()

    def ensure_endpoint(self, identity: EndpointIdentity, *, at: datetime) -> EndpointRecord:
        """The endpoint of this identity, made if it is new; base URL and labels are brought up to date."""
        with self._sessions.write() as session:
            return endpoints.ensure_endpoint(session, identity, at)

    def endpoints(self, *, provider: str | None = None, model: str | None = None) -> list[EndpointRecord]:
        """The endpoints of a provider and model (None: of any), the oldest first."""
        with self._sessions.read() as session:
            return endpoints.find_endpoints(session, provider=provider, model=model)

    def providers(self) -> list[str]:
        """The slugs of all providers that were ever probed, sorted."""
        with self._sessions.read() as session:
            return list(endpoints.provider_slugs(session))

    def capabilities(self, endpoint_id: str) -> Mapping[str, Any]:
        """What is known of an endpoint by now."""
        with self._sessions.read() as session:
            return endpoints.find_endpoint(session, endpoint_id).capabilities

    def save_capabilities(
        self, endpoint_id: str, capabilities: Mapping[str, Any], *, lease: Lease | None = None
    ) -> None:
        """Replace what is known of an endpoint; `capabilities` holds JSON values.

        With a `lease`, here and below, nothing is written and LeaseLostError raised where the check is another's now.
        """
        with self._fenced(lease) as session:
            endpoints.save_capabilities(session, endpoint_id, capabilities)

    def begin_run(self, start: RunStart, *, at: datetime, lease: Lease | None = None) -> str:
        """Enter a run as running in this process; its id. One run per check, endpoint and probe."""
        with self._fenced(lease) as session:
            return runs.begin(session, start, this_process(), at)

    def resume_run(self, start: RunStart, *, at: datetime, lease: Lease | None = None) -> ResumedRun | None:
        """The run that an earlier attempt of a check began, with the samples it has, in this process's name and held
        against `start`'s reference from now on; None where none was begun. Its status tells whether it was finished as
        well."""
        with self._fenced(lease) as session:
            run_id = runs.resume(session, start, this_process(), at)
            if run_id is None:
                return None
            return ResumedRun(runs.run_records(session, [run_id])[run_id], samples.stored(session, run_id))

    def add_samples(self, run_id: str, given: Sequence[Sample], *, at: datetime, lease: Lease | None = None) -> None:
        """Store samples of a running run, in batches. Those that it has already (by item and repeat) are left as they
        are, so that a batch may be sent again after a failure."""
        for batch in pages(given, samples.BATCH):
            packed = [samples.Packed.of(sample) for sample in batch]
            with self._fenced(lease) as session:
                samples.add_batch(session, run_id, packed, at)

    def add_grades(self, run_id: str, graded: Sequence[Graded], *, lease: Lease | None = None) -> None:
        """Keep grades of a running run as they come; its end brings them all again."""
        with self._fenced(lease) as session:
            session.add_all(grade_rows(run_id, graded))

    def broken_off(self, endpoint_id: str, suite_sha256: str, since: datetime) -> list[Graded]:
        """The grades of the last run of this version of a suite, if it began after `since` and was broken off."""
        with self._sessions.read() as session:
            run_id = runs.broken_off(session, endpoint_id, suite_sha256, since)
            return [] if run_id is None else graded_of(session, [run_id])[0]

    def finish_run(
        self, run_id: str, result: RunResult, *, at: datetime, lease: Lease | None = None
    ) -> BaselineRecord | None:
        """Close a run with everything it found, in one transaction.

        Returns the baseline that the run is part of now. None where `result.baseline` is None, and also where another
        process opened or closed a baseline since this run was judged: the run is stored then, outside any baseline.
        """
        rows = observation_rows(run_id, result.observations) + scored_rows(run_id, result)
        rows += protocol_rows(run_id, result)
        rows += graded_rows(run_id, result)
        rows += loop_rows(run_id, result)
        with self._fenced(lease) as session:
            return runs.finish(session, run_id, result, rows, at)

    @contextmanager
    def _fenced(self, lease: Lease | None) -> Iterator[Session]:
        """A writing transaction of a check's owner: nobody takes the check from it before it ends."""
        with self._sessions.write() as session:
            if lease is not None:
                queue.hold(session, lease)
            yield session

    def run(self, run_id: str) -> RunRecord:
        """Raises UsageError where there is no such run."""
        with self._sessions.read() as session:
            found = runs.run_records(session, [run_id])
        if run_id not in found:
            raise _no_run(run_id)
        return found[run_id]

    def observations(self, run_id: str) -> RunObservations:
        """What the detectors saw of a run, bit for bit. Raises UsageError where there is no such run."""
        with self._sessions.read() as session:
            found = observations_of(session, [run_id])
        if not found:
            raise _no_run(run_id)
        return found[0]

    def evidence(self, run_id: str) -> tuple[EvidenceRecord, ...]:
        """What a run was found to be, check by check; empty for a run that was never judged."""
        with self._sessions.read() as session:
            return evidence_of(session, [run_id])[run_id]

    def screened(self, check_id: str) -> frozenset[str]:
        """The metrics of a check that fresh answers are to confirm."""
        with self._sessions.read() as session:
            return screened(session, check_id)

    def exchanges(self, run_id: str) -> list[Exchange]:
        """Requests and raw answers of a run, redacted, as far as they are kept."""
        with self._sessions.read() as session:
            return samples.exchanges(session, run_id)

    def active_baseline(self, endpoint_id: str, probe: ProbeKind, suite: str = "") -> BaselineRecord | None:
        """`suite` names the private suite, of evals."""
        with self._sessions.read() as session:
            return baselines.active_baseline(session, endpoint_id, probe, suite)

    def baselines(self, endpoint_id: str) -> list[BaselineRecord]:
        """Every baseline an endpoint ever had, by probe and version."""
        with self._sessions.read() as session:
            return baselines.all_baselines(session, endpoint_id)

    def baseline_observations(self, baseline_id: str) -> list[RunObservations]:
        """The observations of a baseline's runs, in the order in which the runs came in."""
        with self._sessions.read() as session:
            return observations_of(session, [member.run_id for member in baselines.members(session, baseline_id)])

    def scored(self, run_id: str) -> dict[tuple[str, int], Scored]:
        """The scored answers of a run of tool calls or agent loops, by item and repeat."""
        with self._sessions.read() as session:
            return scored_by_item(session, run_id)

    def baseline_scored(self, baseline_id: str) -> list[Scored]:
        """The scored answers of a baseline's runs, of tool calls or agent loops."""
        with self._sessions.read() as session:
            return scored_of(session, [member.run_id for member in baselines.members(session, baseline_id)])

    def baseline_drawn_alike(self, baseline_id: str, suite_version: str) -> tuple[list[Scored], list[Scored]]:
        """The scored answers of a baseline's runs of tool calls: of those whose cases were drawn by this version, and
        of the others."""
        with self._sessions.read() as session:
            runs = [member.run_id for member in baselines.members(session, baseline_id)]
            alike = runs_drawn_alike(session, runs, suite_version)
            return scored_of(session, alike), scored_of(session, [run for run in runs if run not in alike])

    def baseline_reference_scored(self, baseline_id: str, suite_version: str, fingerprint: str) -> list[Scored]:
        """The reference's scored answers in a baseline's runs whose cases were drawn by this version, of each item and
        repeat the first: where it was the reference of this fingerprint, since another one answers otherwise."""
        with self._sessions.read() as session:
            runs = [member.run_id for member in baselines.members(session, baseline_id)]
            return reference_scored_of(session, runs_drawn_alike(session, runs, suite_version, fingerprint))

    def last_accumulated(self, endpoint_id: str) -> Accumulated | None:
        """What the runs of the tool-call probe added up to at the last one."""
        with self._sessions.read() as session:
            return last_accumulated(session, endpoint_id)

    def baseline_protocol(self, baseline_id: str) -> list[ProtocolFacts]:
        """What the protocol probe saw in a baseline's runs."""
        with self._sessions.read() as session:
            return protocol_of(session, [member.run_id for member in baselines.members(session, baseline_id)])

    def baseline_loops(self, baseline_id: str) -> list[GradedLoop]:
        """What the free agent loops of a baseline's runs came to."""
        with self._sessions.read() as session:
            return loops_of(session, [member.run_id for member in baselines.members(session, baseline_id)])

    def baseline_graded(self, baseline_id: str) -> list[list[Graded]]:
        """The grades of each of a baseline's runs, in the order in which the runs came in."""
        with self._sessions.read() as session:
            return graded_of(session, [member.run_id for member in baselines.members(session, baseline_id)])

    def accept_baseline(
        self,
        endpoint_id: str,
        *,
        note: str,
        at: datetime,
        probe: ProbeKind | None = None,
        run_id: str | None = None,
        suite: str | None = None,
        actor: str | None = None,
    ) -> list[BaselineRecord]:
        """Make a run the new baseline of its probe; the old one closes, and alerts about the change are over. Raises
        UsageError where there is no such run.

        `run_id` None takes the latest run that succeeded and holds observations: of `probe`, or of each probe, and of
        evals of `suite`, or of each suite. An `actor` is noted in the audit log.
        """
        with self._sessions.write() as session:
            accepted = baselines.accept(session, endpoint_id, probe, run_id, note=note, at=at, suite=suite)
            for baseline in accepted:
                accept_change(session, endpoint_id, baseline.probe.value, note.strip(), at)
            if actor is not None:
                audit(session, actor, "baseline.accept", endpoint_id, {"opened": len(accepted)}, at)
            return accepted

    def accept_all(self, endpoint_id: str, *, note: str, at: datetime, actor: str) -> Acceptance:
        """Make all that an endpoint is now its new baselines: the latest run of each probe, and of its streams the
        rounds since they changed. In one transaction; alerts about the change are over. Raises UsageError where there
        is neither such a run nor a change in its streams."""
        # Here: who writes and reads runs alone needs none of the streams.
        from monitor.store.stream_acceptance import Acceptance, accept_epoch

        with self._sessions.write() as session:
            accepted = baselines.accept_latest(session, endpoint_id, note=note, at=at)
            epoch = accept_epoch(session, endpoint_id, note=note, actor=actor, at=at)
            if not accepted and epoch is None:
                raise baselines.no_run(endpoint_id, None)
            for baseline in accepted:
                accept_change(session, endpoint_id, baseline.probe.value, note.strip(), at)
            audit(session, actor, "baseline.accept", endpoint_id, {"opened": len(accepted)}, at)
            return Acceptance(accepted, epoch)

    def reset_baseline(
        self, endpoint_id: str, *, note: str, at: datetime, suite: str | None = None, actor: str | None = None
    ) -> list[BaselineRecord]:
        """Close all active baselines of an endpoint, or that of one private suite, so that its next saved runs enrol;
        those that were closed. An `actor` is noted in the audit log."""
        with self._sessions.write() as session:
            closed = baselines.reset(session, endpoint_id, note=note, at=at, suite=suite)
            if actor is not None:
                audit(session, actor, "baseline.reset", endpoint_id, {"closed": len(closed)}, at)
            return closed

    def history(
        self, *, provider: str | None = None, model: str | None = None, since: datetime | None = None, limit: int = 50
    ) -> list[CheckRecord]:
        """The latest checks, newest first."""
        with self._sessions.read() as session:
            return history.checks(session, provider=provider, model=model, since=since, limit=limit)


def _no_run(run_id: str) -> UsageError:
    return UsageError(f"There is no run {run_id}.", remedy="`monitor history --provider … --json` shows the ids.")
