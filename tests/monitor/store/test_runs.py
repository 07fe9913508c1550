from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from monitor.errors import StorageError, UsageError
from monitor.store import ChangeKind, EndpointRecord, Enrol, RunRecord, RunResult, RunStatus, Store, Trigger
from monitor.store.browse import Browse
from monitor.store.browse_records import ChangeFilter
from monitor.store.keyset import Window
from monitor.store.outbox import open_events
from probes.plan import Outcome, ProbeKind
from tests.monitor.store.material import (
    AT,
    REFERENCE,
    canonical,
    evidence,
    finished_run,
    later,
    observation,
    result,
    sample,
    start,
)

ROOT = Path(__file__).parents[3]


def test_a_run_from_start_to_end(store: Store, endpoint: EndpointRecord) -> None:
    begun = start(endpoint.id)
    run_id = store.begin_run(begun, at=AT)
    outcomes = [Outcome.OK, Outcome.OK, Outcome.WRONG, Outcome.REFUSED, Outcome.TIMEOUT, Outcome.SKIPPED]
    store.add_samples(run_id, [sample(f"{n}", outcome=outcome) for n, outcome in enumerate(outcomes)], at=later(1))
    assert store.run(run_id).status is RunStatus.RUNNING

    store.finish_run(run_id, replace(result(fingerprint="fp_1"), error_code="provider_quota"), at=later(2))

    assert store.run(run_id) == RunRecord(
        id=run_id,
        check_id=begun.check_id,
        endpoint_id=endpoint.id,
        probe=ProbeKind.LOGPROBS,
        trigger=Trigger.CLI,
        status=RunStatus.SUCCEEDED,
        error_code="provider_quota",
        suite_sha256="0" * 64,
        suite_version="1",
        config_digest="c" * 64,
        code_version="0.1.0",
        reference_fingerprint=REFERENCE.fingerprint,
        served_fingerprint="fp_1",
        planned=3,
        n_ok=2,
        n_bad=2,
        n_err=1,
        tokens_in=36,
        tokens_out=3,
        cost_microusd=120,
        n_without_usage=0,
        started_at=AT,
        finished_at=later(2),
    )


def test_a_refusal_that_an_item_was_sent_for_is_no_bad_answer(store: Store, endpoint: EndpointRecord) -> None:
    run_id = store.begin_run(start(endpoint.id), at=AT)
    refused = sample("a", outcome=Outcome.REFUSED)
    answer = replace(refused.attempts[0], error=None)
    meant = replace(refused, item=replace(refused.item, key="b", verbatim=True), attempts=(answer,))
    store.add_samples(run_id, [refused, meant, sample("c")], at=later(1))

    store.finish_run(run_id, result(), at=later(2))

    run = store.run(run_id)
    assert (run.n_ok, run.n_bad, run.n_err) == (2, 1, 0)


def test_its_findings_come_back_as_they_were_given(store: Store, endpoint: EndpointRecord) -> None:
    given = replace(
        result(),
        observations=[observation("b"), observation("a", 1, -0.0), observation("a", 0, 5e-324)],
        evidence=[evidence("fidelity"), replace(evidence("latency", counted=False), interval=None, causes=(), p=None)],
    )

    run_id = finished_run(store, endpoint.id, outcome=given)

    stored = store.observations(run_id)
    assert (stored.run_id, stored.at, stored.reference_fingerprint) == (run_id, AT, REFERENCE.fingerprint)
    assert [canonical(one) for one in stored.observations] == [canonical(one) for one in given.observations]
    assert store.evidence(run_id) == tuple(given.evidence)


def test_the_end_is_all_or_nothing(store: Store, endpoint: EndpointRecord) -> None:
    """The second observation of one item breaks the rule of one; by then evidence and status were written."""
    run_id = store.begin_run(start(endpoint.id), at=AT)
    twice = replace(result(baseline=Enrol()), observations=[observation("a"), observation("a")])

    with pytest.raises(StorageError, match=r"UNIQUE constraint failed: observation|UniqueViolation"):
        store.finish_run(run_id, twice, at=AT)

    assert store.run(run_id).status is RunStatus.RUNNING
    assert store.observations(run_id).observations == ()
    assert store.evidence(run_id) == ()
    assert store.active_baseline(endpoint.id, ProbeKind.LOGPROBS) is None
    store.finish_run(run_id, result(), at=AT)
    assert store.run(run_id).status is RunStatus.SUCCEEDED


def test_a_run_ends_once(store: Store, endpoint: EndpointRecord) -> None:
    run_id = finished_run(store, endpoint.id)

    with pytest.raises(StorageError, match=f"Run {run_id} is not running but succeeded"):
        store.finish_run(run_id, result(), at=later(1))

    assert len(store.evidence(run_id)) == 1


def test_a_run_does_not_end_as_running(store: Store, endpoint: EndpointRecord) -> None:
    run_id = store.begin_run(start(endpoint.id), at=AT)

    with pytest.raises(StorageError, match="cannot end as running"):
        store.finish_run(run_id, RunResult(RunStatus.RUNNING), at=AT)


def test_a_check_has_one_run_of_a_probe(store: Store, endpoint: EndpointRecord) -> None:
    begun = start(endpoint.id)
    store.begin_run(begun, at=AT)
    store.begin_run(replace(begun, probe=ProbeKind.LATENCY), at=AT)

    with pytest.raises(StorageError, match="has a run of logprobs on"):
        store.begin_run(begun, at=later(1))


def test_a_run_of_no_endpoint_is_refused(store: Store) -> None:
    with pytest.raises(StorageError, match="There is no endpoint ep_nowhere"):
        store.begin_run(start("ep_nowhere"), at=AT)


def test_a_run_that_does_not_exist_is_named(store: Store) -> None:
    for ask in (store.run, store.observations):
        with pytest.raises(UsageError, match="There is no run run_none"):
            ask("run_none")
    with pytest.raises(StorageError, match="There is no run run_none"):
        store.finish_run("run_none", result(), at=AT)


def test_a_killed_run_is_marked_at_the_next_opening_and_keeps_its_samples(database_url: str) -> None:
    command = [sys.executable, "-m", "tests.monitor.store.writers", "stop_in_mid_run", database_url]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        run_id = child.stdout.readline().strip()
        with Store.open(database_url, at=later(1)) as store:
            assert store.run(run_id).status is RunStatus.RUNNING
        child.kill()

    with Store.open(database_url, at=later(2)) as store:
        run = store.run(run_id)
        assert (run.status, run.error_code, run.finished_at) == (RunStatus.FAILED, "abandoned", later(2))
        assert (run.n_ok, len(store.exchanges(run_id))) == (2, 2)
        assert store.history()[0].verdict is None


def test_a_run_older_than_the_limit_is_given_up_and_its_end_refused(
    store: Store, endpoint: EndpointRecord, database_url: str
) -> None:
    old = store.begin_run(start(endpoint.id), at=AT)
    young = store.begin_run(start(endpoint.id), at=later(10))

    Store.open(database_url, at=later(30), abandoned_after=timedelta(minutes=25)).close()

    assert store.run(old).status is RunStatus.FAILED
    assert store.run(young).status is RunStatus.RUNNING
    with pytest.raises(StorageError, match=f"Run {old} is not running but failed: abandoned"):
        store.finish_run(old, result(), at=later(31))


def test_a_change_of_the_stack_is_told_once_for_each_baseline(store: Store, endpoint: EndpointRecord) -> None:
    def run(
        minutes: float, *changes: str, baseline: Enrol | None = None, status: RunStatus = RunStatus.SUCCEEDED
    ) -> str:
        outcome = replace(result(baseline=baseline, status=status), stack_changes=changes)
        return finished_run(store, endpoint.id, later(minutes), probe=ProbeKind.PROTOCOL, outcome=outcome)

    run(0, baseline=Enrol())
    run(0.5, "x", status=RunStatus.PARTIAL)
    for minutes, changes in enumerate([["a · b"], ["a · b"], ["c", "a · b", "d"], ["d"], []], start=1):
        last = run(minutes, *changes)
    store.accept_baseline(endpoint.id, note="theirs", at=later(10), run_id=last)
    run(11, "d")

    changes = Browse(store.sessions).changes(ChangeFilter(kind=ChangeKind.STACK), Window(9)).items
    assert [one.text.removeprefix("serving stack: ") for one in changes] == ["d", "c · d", "a · b"]
    with store.sessions.read() as session:
        told = open_events(session, 9)
    assert {one.type for one in told} == {"provider.stack_changed"}
    assert [one.data["reason"] for one in told] == ["a · b", "c; d", "d"]
    assert {(one.labels["provider"], one.labels["endpoint"]) for one in told} == {("acme", endpoint.id)}
