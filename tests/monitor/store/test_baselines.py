from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from monitor.errors import StorageError, UsageError
from monitor.store import (
    BaselineMember,
    BaselineRecord,
    BaselineRole,
    BaselineStatus,
    EndpointRecord,
    Enrol,
    Join,
    RunStatus,
    Store,
)
from probes.plan import ProbeKind
from tests.monitor.store.material import AT, REFERENCE, finished_run, identity, later, result, start

LOGPROBS = ProbeKind.LOGPROBS


def enrolled(store: Store, endpoint_id: str, probe: ProbeKind = LOGPROBS) -> BaselineRecord:
    run_id = store.begin_run(start(endpoint_id, probe), at=AT)
    baseline = store.finish_run(run_id, result(baseline=Enrol()), at=AT)
    assert baseline is not None
    return baseline


def test_there_is_none_at_first(store: Store, endpoint: EndpointRecord) -> None:
    finished_run(store, endpoint.id)

    assert store.active_baseline(endpoint.id, LOGPROBS) is None


def test_a_run_enrols(store: Store, endpoint: EndpointRecord) -> None:
    run_id = store.begin_run(start(endpoint.id), at=AT)

    opened = store.finish_run(run_id, result(baseline=Enrol()), at=later(1))

    assert opened is not None
    assert opened == BaselineRecord(
        id=opened.id,
        endpoint_id=endpoint.id,
        probe=LOGPROBS,
        version=1,
        status=BaselineStatus.ACTIVE,
        set_by="first run",
        note=None,
        created_at=later(1),
        closed_at=None,
        runs=(BaselineMember(run_id, BaselineRole.ENROLMENT),),
    )
    assert store.active_baseline(endpoint.id, LOGPROBS) == opened
    assert store.active_baseline(endpoint.id, ProbeKind.ACCOUNTING) is None


def test_unchanged_runs_join_and_their_observations_come_with_their_references(
    store: Store, endpoint: EndpointRecord
) -> None:
    baseline = enrolled(store, endpoint.id)
    newer = replace(REFERENCE, fingerprint="sha256:bb")
    run_id = store.begin_run(start(endpoint.id, reference=newer), at=later(1))

    joined = store.finish_run(run_id, result(value=-0.75, baseline=Join(baseline.id)), at=later(2))

    assert joined == replace(baseline, runs=(*baseline.runs, BaselineMember(run_id, BaselineRole.ACCEPTED)))
    first, second = store.baseline_observations(baseline.id)
    assert [first.reference_fingerprint, second.reference_fingerprint] == ["sha256:aa", "sha256:bb"]
    assert [first.at, second.at] == [AT, later(1)]
    assert [one.logprobs[0] for one in first.observations] == [-0.5] * 3
    assert [one.logprobs[0] for one in second.observations] == [-0.75] * 3


def test_of_two_first_runs_one_enrols_and_the_other_stays_out(store: Store, endpoint: EndpointRecord) -> None:
    slow = store.begin_run(start(endpoint.id), at=AT)
    baseline = enrolled(store, endpoint.id)

    assert store.finish_run(slow, result(baseline=Enrol()), at=later(1)) is None

    assert store.active_baseline(endpoint.id, LOGPROBS) == baseline
    assert store.run(slow).status is RunStatus.SUCCEEDED


def test_a_run_does_not_join_what_was_closed_meanwhile(store: Store, endpoint: EndpointRecord) -> None:
    baseline = enrolled(store, endpoint.id)
    judged = store.begin_run(start(endpoint.id), at=later(1))
    store.reset_baseline(endpoint.id, note="the provider announced a new version", at=later(2))

    assert store.finish_run(judged, result(baseline=Join(baseline.id)), at=later(3)) is None

    (closed,) = store.baselines(endpoint.id)
    assert closed.runs == baseline.runs


def test_a_run_without_observations_cannot_enrol(store: Store, endpoint: EndpointRecord) -> None:
    run_id = store.begin_run(start(endpoint.id), at=AT)

    with pytest.raises(StorageError, match="has no observations for a baseline"):
        store.finish_run(run_id, replace(result(baseline=Enrol()), observations=[]), at=AT)

    assert store.run(run_id).status is RunStatus.RUNNING


def test_reset_closes_all_and_the_next_run_enrols_anew(store: Store, endpoint: EndpointRecord) -> None:
    enrolled(store, endpoint.id)
    enrolled(store, endpoint.id, ProbeKind.ACCOUNTING)

    closed = store.reset_baseline(endpoint.id, note=" new GPUs ", at=later(1))

    assert [(one.probe, one.status, one.closed_at) for one in closed] == [
        (ProbeKind.ACCOUNTING, BaselineStatus.CLOSED, later(1)),
        (LOGPROBS, BaselineStatus.CLOSED, later(1)),
    ]
    assert store.active_baseline(endpoint.id, LOGPROBS) is None
    assert enrolled(store, endpoint.id).version == 2
    assert [one.version for one in store.baselines(endpoint.id) if one.probe is LOGPROBS] == [1, 2]
    assert store.reset_baseline(endpoint.id, note="again", at=later(2)) != []
    assert store.reset_baseline(endpoint.id, note="nothing left", at=later(3)) == []


def test_accepting_makes_the_latest_run_of_each_probe_the_baseline(store: Store, endpoint: EndpointRecord) -> None:
    before = enrolled(store, endpoint.id)
    finished_run(store, endpoint.id, later(1))
    latest = finished_run(store, endpoint.id, later(2))
    counted = finished_run(store, endpoint.id, later(2), probe=ProbeKind.ACCOUNTING)
    finished_run(store, endpoint.id, later(3), outcome=replace(result(), observations=[]))
    finished_run(store, endpoint.id, later(4), outcome=result(status=RunStatus.PARTIAL))

    accepted = store.accept_baseline(endpoint.id, note="they told us", at=later(5))

    assert [(one.probe, one.version, one.runs, one.set_by, one.note) for one in accepted] == [
        (LOGPROBS, 2, (BaselineMember(latest, BaselineRole.ENROLMENT),), "person", "they told us"),
        (ProbeKind.ACCOUNTING, 1, (BaselineMember(counted, BaselineRole.ENROLMENT),), "person", "they told us"),
    ]
    old = next(one for one in store.baselines(endpoint.id) if one.id == before.id)
    assert (old.status, old.closed_at, old.runs) == (BaselineStatus.CLOSED, later(5), before.runs)


def test_a_named_run_is_accepted_alone(store: Store, endpoint: EndpointRecord) -> None:
    enrolled(store, endpoint.id)
    accounting = enrolled(store, endpoint.id, ProbeKind.ACCOUNTING)
    named = finished_run(store, endpoint.id, later(1), outcome=result(status=RunStatus.PARTIAL))
    finished_run(store, endpoint.id, later(2))

    (accepted,) = store.accept_baseline(endpoint.id, run_id=named, note="as agreed", at=later(3))

    assert accepted.runs == (BaselineMember(named, BaselineRole.ENROLMENT),)
    assert store.active_baseline(endpoint.id, ProbeKind.ACCOUNTING) == accounting


def test_accepting_what_opened_the_baseline_changes_nothing(store: Store, endpoint: EndpointRecord) -> None:
    baseline = enrolled(store, endpoint.id)

    assert store.accept_baseline(endpoint.id, note="again", at=later(1)) == [baseline]
    assert store.baselines(endpoint.id) == [baseline]


def test_a_run_that_joined_may_open_the_next_one(store: Store, endpoint: EndpointRecord) -> None:
    baseline = enrolled(store, endpoint.id)
    run_id = store.begin_run(start(endpoint.id), at=later(1))
    store.finish_run(run_id, result(baseline=Join(baseline.id)), at=later(1))

    (accepted,) = store.accept_baseline(endpoint.id, note="from here on", at=later(2))

    assert (accepted.version, accepted.runs) == (2, (BaselineMember(run_id, BaselineRole.ENROLMENT),))


@pytest.mark.parametrize("note", ["", "  \n"])
def test_a_note_is_needed(store: Store, endpoint: EndpointRecord, note: str) -> None:
    baseline = enrolled(store, endpoint.id)

    with pytest.raises(UsageError, match="only with a note"):
        store.accept_baseline(endpoint.id, note=note, at=later(1))
    with pytest.raises(UsageError, match="only with a note"):
        store.reset_baseline(endpoint.id, note=note, at=later(1))

    assert store.active_baseline(endpoint.id, LOGPROBS) == baseline


def test_what_cannot_be_accepted_is_named(store: Store, endpoint: EndpointRecord) -> None:
    with pytest.raises(UsageError, match="has no finished run to accept"):
        store.accept_baseline(endpoint.id, note="x", at=AT)
    other = store.ensure_endpoint(identity("umbrella"), at=AT)
    foreign = finished_run(store, other.id)
    unfinished = store.begin_run(start(endpoint.id), at=AT)
    finished = finished_run(store, endpoint.id)

    with pytest.raises(UsageError, match=f"has no run {foreign}"):
        store.accept_baseline(endpoint.id, run_id=foreign, note="x", at=AT)
    with pytest.raises(UsageError, match=f"has no run {finished} of latency"):
        store.accept_baseline(endpoint.id, probe=ProbeKind.LATENCY, run_id=finished, note="x", at=AT)
    with pytest.raises(UsageError, match=r"\(logprobs, running\) has nothing that could be a baseline"):
        store.accept_baseline(endpoint.id, run_id=unfinished, note="x", at=AT)
    with pytest.raises(UsageError, match="no finished run of latency"):
        store.accept_baseline(endpoint.id, probe=ProbeKind.LATENCY, note="x", at=AT)


def asked_suite(store: Store, endpoint_id: str, version: str, at: datetime, baseline: Enrol | Join | None) -> str:
    """A run of a private suite's version, such as sums/1."""
    run_id = store.begin_run(replace(start(endpoint_id, ProbeKind.EVALS), suite_version=version), at=at)
    store.finish_run(run_id, result(baseline=baseline), at=at)
    return run_id


def test_each_private_suite_has_a_baseline_of_its_own(store: Store, endpoint: EndpointRecord) -> None:
    sums = asked_suite(store, endpoint.id, "sums/1", AT, Enrol())
    words = asked_suite(store, endpoint.id, "words/3", later(1), Enrol())
    opened = store.active_baseline(endpoint.id, ProbeKind.EVALS, "sums")
    assert opened is not None
    again = asked_suite(store, endpoint.id, "sums/2", later(2), Join(opened.id))
    elsewhere = asked_suite(store, endpoint.id, "words/3", later(3), Join(opened.id))

    found = {one.suite: [member.run_id for member in one.runs] for one in store.baselines(endpoint.id)}

    assert found == {"sums": [sums, again], "words": [words]}
    assert elsewhere not in found["sums"]


def test_one_suites_baseline_is_accepted_or_reset_alone(store: Store, endpoint: EndpointRecord) -> None:
    for number, version in enumerate(("sums/1", "words/1", "sums/1", "words/1")):
        asked_suite(store, endpoint.id, version, later(number), Enrol() if number < 2 else None)

    accepted = store.accept_baseline(endpoint.id, probe=ProbeKind.EVALS, suite="sums", note="they told us", at=later(5))
    closed = store.reset_baseline(endpoint.id, suite="words", note="other hardware", at=later(6))
    everything = store.accept_baseline(endpoint.id, note="all of it", at=later(7))

    assert [(one.suite, one.version) for one in accepted] == [("sums", 2)]
    assert [(one.suite, one.version) for one in closed] == [("words", 1)]
    assert [(one.suite, one.version) for one in everything] == [("sums", 2), ("words", 2)]
