"""What stands of an endpoint in the database: the last word of each metric and suite, kept as its runs end."""

from __future__ import annotations

from dataclasses import replace

from monitor.drift.rule import Verdict
from monitor.standing import StandingVerdict
from monitor.store import EndpointRecord, Enrol, EvidenceRecord, ReferenceIdentity, Store
from monitor.store.standing import latest_evidence, standing_evidence, standing_verdicts
from probes.plan import ProbeKind
from tests.dashboards.statements import statements
from tests.monitor.store.material import AT, REFERENCE, evidence, finished_run, identity, later, result, start


def asked(
    store: Store,
    endpoint: EndpointRecord,
    minutes: float,
    *found: EvidenceRecord,
    probe: ProbeKind = ProbeKind.LOGPROBS,
    suite: str = "",
    enrols: bool = False,
    reference: ReferenceIdentity | None = REFERENCE,
) -> str:
    begun = start(endpoint.id, probe, reference=reference)
    run_id = store.begin_run(replace(begun, suite_version=f"{suite}/1" if suite else "1"), at=later(minutes))
    outcome = replace(result(baseline=Enrol() if enrols else None), evidence=list(found))
    store.finish_run(run_id, outcome, at=later(minutes))
    return run_id


def stands(store: Store, endpoint: EndpointRecord) -> dict[tuple[str, str], StandingVerdict]:
    with store.sessions.read() as session:
        return {(one.metric, one.suite): one for one in standing_verdicts(session).get(endpoint.id, ())}


def test_each_metric_and_each_suite_keeps_its_own_word(store: Store, endpoint: EndpointRecord) -> None:
    suspicion = asked(store, endpoint, 0, evidence(), evidence("fidelity", Verdict.SUSPECT))
    asked(store, endpoint, 10, evidence("evals"), probe=ProbeKind.EVALS, suite="night")
    asked(store, endpoint, 20, evidence("evals", Verdict.DRIFT), probe=ProbeKind.EVALS, suite="shop")
    asked(store, endpoint, 30, evidence("latency"), probe=ProbeKind.LATENCY)

    found = stands(store, endpoint)

    assert {key: (one.probe.value, one.verdict.value) for key, one in found.items()} == {
        ("logprobs", ""): ("logprobs", "ok"),
        ("fidelity", ""): ("logprobs", "suspect"),
        ("evals", "night"): ("evals", "ok"),
        ("evals", "shop"): ("evals", "drift"),
        ("latency", ""): ("latency", "ok"),
    }
    assert (found["fidelity", ""].run_id, found["fidelity", ""].since) == (suspicion, AT)


def test_a_later_run_of_the_same_takes_its_place_unless_it_says_nothing(store: Store, endpoint: EndpointRecord) -> None:
    for minutes, verdict in enumerate([Verdict.OK, Verdict.SUSPECT, Verdict.SUSPECT, Verdict.INCONCLUSIVE]):
        asked(store, endpoint, minutes, evidence(verdict=verdict))

    (stand,) = stands(store, endpoint).values()
    with store.sessions.read() as session:
        ((_, told),) = standing_evidence(session, endpoint.id)
        (latest,) = latest_evidence(session, [endpoint.id], ["logprobs"])[endpoint.id]

    assert (stand.verdict, stand.since, stand.at) == (Verdict.SUSPECT, later(1), later(2))
    assert (told.verdict, latest.verdict) == (Verdict.SUSPECT, Verdict.INCONCLUSIVE)


def test_with_its_baseline_goes_what_was_held_against_it(store: Store, endpoint: EndpointRecord) -> None:
    asked(store, endpoint, 0, evidence(verdict=Verdict.INCONCLUSIVE), enrols=True)
    asked(store, endpoint, 1, evidence(verdict=Verdict.DRIFT), evidence("fidelity", Verdict.SUSPECT))
    asked(store, endpoint, 2, evidence("evals"), probe=ProbeKind.EVALS, suite="night", enrols=True)
    asked(store, endpoint, 3, evidence("latency"), probe=ProbeKind.LATENCY)

    store.accept_baseline(endpoint.id, probe=ProbeKind.LOGPROBS, note="as announced", at=later(4))
    assert set(stands(store, endpoint)) == {("fidelity", ""), ("evals", "night"), ("latency", "")}

    store.reset_baseline(endpoint.id, note="anew", at=later(5), suite="night")
    assert set(stands(store, endpoint)) == {("fidelity", ""), ("latency", "")}


def test_what_was_held_against_a_reference_goes_with_it(store: Store, endpoint: EndpointRecord) -> None:
    asked(store, endpoint, 0, evidence(), evidence("fidelity", Verdict.SUSPECT))
    asked(store, endpoint, 1, evidence(), evidence("fidelity", Verdict.INAPPLICABLE))
    assert stands(store, endpoint)["fidelity", ""].verdict is Verdict.SUSPECT

    asked(store, endpoint, 2, evidence(), evidence("fidelity", Verdict.INAPPLICABLE), reference=None)
    assert stands(store, endpoint)["fidelity", ""].verdict is Verdict.INAPPLICABLE


def test_all_endpoints_are_read_in_one_statement(store: Store, endpoint: EndpointRecord) -> None:
    other = store.ensure_endpoint(identity("umbrella"), at=AT)
    for each in (endpoint, other):
        finished_run(store, each.id)
    with store.sessions.read() as session, statements() as sent:
        found = standing_verdicts(session)
    assert set(found) == {endpoint.id, other.id}
    assert len([one for one in sent if one.startswith("SELECT")]) == 1
