from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from monitor.drift.rule import Verdict
from monitor.store import BaselineRole, EndpointRecord, Enrol, Join, RunResult, RunStatus, Store, history
from monitor.store.pages import pages
from probes.plan import ProbeKind
from tests.monitor.store.material import AT, evidence, finished_run, identity, later, result, start


def test_it_groups_the_runs_of_a_check_newest_first(store: Store, endpoint: EndpointRecord) -> None:
    for check, minute in (("chk_1", 0), ("chk_2", 10)):
        finished_run(store, endpoint.id, later(minute), check_id=check)
        finished_run(store, endpoint.id, later(minute + 1), check_id=check, probe=ProbeKind.ACCOUNTING)

    newer, older = store.history(provider="acme")

    assert [newer.check_id, older.check_id] == ["chk_2", "chk_1"]
    assert (older.at, older.endpoint, older.verdict) == (AT, endpoint, Verdict.OK)
    assert [part.run.probe for part in older.runs] == [ProbeKind.LOGPROBS, ProbeKind.ACCOUNTING]
    assert older.evidence == (evidence(), evidence())
    assert (older.tokens, older.cost_microusd) == (78, 240)


def test_a_check_of_two_endpoints_is_told_of_each(store: Store, endpoint: EndpointRecord) -> None:
    other = store.ensure_endpoint(identity(model="large"), at=AT)
    finished_run(store, endpoint.id, check_id="chk_1")
    finished_run(store, other.id, later(1), check_id="chk_1", outcome=result(verdict=Verdict.DRIFT))

    found = store.history(provider="acme")

    assert [(one.endpoint.model, one.verdict, len(one.runs)) for one in found] == [
        ("large", Verdict.DRIFT, 1),
        ("smol", Verdict.OK, 1),
    ]
    assert [one.endpoint for one in store.history(provider="acme", model="smol")] == [endpoint]


def test_it_is_bounded_by_time_and_number(store: Store, endpoint: EndpointRecord) -> None:
    for minute in range(5):
        finished_run(store, endpoint.id, later(minute), check_id=f"chk_{minute}")

    assert [one.check_id for one in store.history(since=later(2))] == ["chk_4", "chk_3", "chk_2"]
    assert [one.check_id for one in store.history(limit=2)] == ["chk_4", "chk_3"]
    assert store.history(provider="nobody") == []


def test_a_history_longer_than_a_statement_takes_comes_whole(
    store: Store, endpoint: EndpointRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "pages", partial(pages, size=3))
    for number in range(8):
        finished_run(store, endpoint.id, later(number), check_id=f"chk_{number}")

    found = store.history()

    assert [one.check_id for one in found] == [f"chk_{number}" for number in reversed(range(8))]
    assert [len(one.evidence) for one in found] == [1] * 8


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ([(Verdict.OK, True), (Verdict.DRIFT, True), (Verdict.SUSPECT, True)], Verdict.DRIFT),
        ([(Verdict.OK, True), (Verdict.DRIFT, False)], Verdict.OK),
        ([(Verdict.INCONCLUSIVE, True), (Verdict.INAPPLICABLE, True)], Verdict.INCONCLUSIVE),
        ([(Verdict.INCONCLUSIVE, False)], Verdict.INCONCLUSIVE),
        ([], None),
    ],
)
def test_its_verdict_rolls_up_what_counts(
    store: Store, endpoint: EndpointRecord, found: list[tuple[Verdict, bool]], verdict: Verdict | None
) -> None:
    given = [evidence(verdict=one, counted=counted) for one, counted in found]
    finished_run(store, endpoint.id, outcome=replace(result(), evidence=given))

    assert store.history()[0].verdict is verdict


def test_an_unknown_price_makes_the_cost_unknown(store: Store, endpoint: EndpointRecord) -> None:
    finished_run(store, endpoint.id, check_id="chk_1")
    failed = RunResult(RunStatus.FAILED, error_code="provider_auth")
    finished_run(store, endpoint.id, check_id="chk_1", probe=ProbeKind.LATENCY, outcome=failed)

    assert store.history()[0].cost_microusd is None


def test_it_says_which_runs_made_the_baseline(store: Store, endpoint: EndpointRecord) -> None:
    first = store.begin_run(start(endpoint.id, check_id="chk_1"), at=AT)
    baseline = store.finish_run(first, result(baseline=Enrol()), at=AT)
    assert baseline is not None
    second = store.begin_run(start(endpoint.id, check_id="chk_2"), at=later(1))
    store.finish_run(second, result(baseline=Join(baseline.id)), at=later(1))
    store.accept_baseline(endpoint.id, run_id=second, note="from here on", at=later(2))
    finished_run(store, endpoint.id, later(3), check_id="chk_3")

    roles = [one.runs[0].baseline_role for one in store.history()]

    assert roles == [None, BaselineRole.ACCEPTED, BaselineRole.ENROLMENT]
    assert [one.enrolled for one in store.history()] == [False, False, True]
