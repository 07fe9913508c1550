"""What the pages ask, on both databases: the right rows, and no others."""

from __future__ import annotations

from datetime import timedelta

import pytest

from monitor.alerts.rule import BUILT_IN
from monitor.alerts.signals import Verdicted
from monitor.config.schema import ConfigFile
from monitor.deliveries.dispatch import Dispatch
from monitor.deliveries.routes import Routes
from monitor.drift.rule import Verdict
from monitor.store import CheckRequest, EndpointRecord, Queue, RunStatus, Store, Trigger
from monitor.store.alerts import Alerts
from monitor.store.channel_health import DEGRADED
from monitor.store.deliveries import Deliveries
from monitor.store.outbox import record_service_event
from monitor.store.pages_queries import CheckGlance, Day, PageQueries
from tests.monitor.store.material import AT, finished_run, identity, later, result

METRIC = "logprobs.shift"
MIDNIGHT = AT.replace(hour=0)
LABELS = {"provider": "acme", "model": "smol"}


@pytest.fixture
def queries(store: Store) -> PageQueries:
    return PageQueries(store.sessions)


def checked(store: Store, endpoint: EndpointRecord, minutes: float, verdict: Verdict = Verdict.OK) -> str:
    queue = Queue(store.sessions)
    request = CheckRequest(f"check-{minutes}", endpoint.id, Trigger.CLI, later(minutes))
    claimed = queue.enter_running(request, "test", later(minutes))
    finished_run(store, endpoint.id, later(minutes), check_id=claimed.entry.id, outcome=result(verdict=verdict))
    queue.finish(claimed.lease, status=RunStatus.SUCCEEDED, verdict=verdict, at=later(minutes + 1))
    return claimed.entry.id


def fired(store: Store, endpoint: EndpointRecord, *checks: str) -> str:
    alerts = Alerts(store.sessions)
    for number, check_id in enumerate(checks):
        signal = Verdicted(check_id, later(number), "logprobs", Verdict.DRIFT, fresh=True)
        alerts.apply(endpoint.id, LABELS, [signal], BUILT_IN, at=later(number))
    return PageQueries(store.sessions).open_alerts()[0].id


def test_the_board_has_each_endpoint_with_its_last_checks_and_open_alerts(
    store: Store, queries: PageQueries, endpoint: EndpointRecord
) -> None:
    other = store.ensure_endpoint(identity("umbrella"), at=later(1))
    first, last = checked(store, endpoint, 0), checked(store, endpoint, 30, Verdict.DRIFT)
    alert = fired(store, endpoint, first, last)
    (waiting,) = Queue(store.sessions).enqueue([CheckRequest("next", endpoint.id, Trigger.CLI, later(60))], later(60))

    board = queries.board()

    one, two = board.endpoints
    assert (one.endpoint, two.endpoint) == (endpoint, other)
    assert (two.latest, two.judged) == (None, None)
    assert one.latest == CheckGlance(waiting.id, RunStatus.QUEUED, None, False, None, None)
    assert one.judged == CheckGlance(last, RunStatus.SUCCEEDED, Verdict.DRIFT, False, None, later(31))
    assert [each.id for each in board.alerts] == [alert]


def test_evidence_is_by_check_and_days_are_of_the_metric_asked(
    store: Store, queries: PageQueries, endpoint: EndpointRecord
) -> None:
    first, last = checked(store, endpoint, 0), checked(store, endpoint, 30, Verdict.DRIFT)
    found = queries.check_evidence([first, last, "chk_unknown"])
    verdicts = {check: [one.verdict for one in evidence] for check, evidence in found.items()}
    assert verdicts == {first: [Verdict.OK], last: [Verdict.DRIFT]}
    assert queries.days({endpoint.id: METRIC}, MIDNIGHT) == {endpoint.id: (Day(MIDNIGHT, 0.012, 0.012, 0.012),)}
    assert queries.days({endpoint.id: "nothing"}, MIDNIGHT) == {}
    assert queries.days({endpoint.id: METRIC}, MIDNIGHT + timedelta(days=1)) == {}


def test_suspicions_and_what_is_over_do_not_count(store: Store, queries: PageQueries, endpoint: EndpointRecord) -> None:
    pending = fired(store, endpoint, "chk_1")
    assert queries.told_alerts() == 0
    fired(store, endpoint, "chk_1", "chk_2")
    assert queries.told_alerts() == 1
    Alerts(store.sessions).resolve(pending, actor="test", at=later(5))
    assert queries.told_alerts() == 0
    assert queries.open_alerts() == ()


def test_the_proof_of_an_alert_is_its_checks_on_its_metric_in_order(
    store: Store, queries: PageQueries, endpoint: EndpointRecord
) -> None:
    checked(store, endpoint, 0)
    later_one, earlier_one = checked(store, endpoint, 20), checked(store, endpoint, 10)
    proof = queries.checks_evidence([later_one, earlier_one, "chk_unknown"], "logprobs")
    assert [part.run.check_id for part in proof] == [earlier_one, later_one]
    assert all("logprobs" in [one.metric for one in part.evidence] for part in proof)
    assert queries.checks_evidence([later_one], "nothing") == []


def test_the_notices_of_an_alert_are_those_that_named_it(
    store: Store, queries: PageQueries, endpoint: EndpointRecord
) -> None:
    alert = fired(store, endpoint, "chk_1", "chk_2")
    channel = {"id": "ops", "url": "https://hooks.ops.test/in", "format": "slack"}
    route = {"id": "all", "to": ["ops"], "group_wait": 1}
    file = ConfigFile.model_validate({"version": 1, "channels": [channel], "routes": [route]})
    dispatch = Dispatch(Deliveries(store.sessions), Routes.of(file))
    dispatch.fan_out(later(3))
    dispatch.flush_due(later(4))

    assert [(one.channel, one.alert_ids) for one in queries.notices_of(alert, AT)] == [("ops", (alert,))]
    assert queries.notices_of("alr_0", AT) == []
    assert queries.notices_of(alert, later(60)) == []


def test_what_the_service_reported_of_itself_of_late(store: Store, queries: PageQueries) -> None:
    with store.sessions.write() as session:
        for key, kind, at in (("a", DEGRADED, AT), ("b", DEGRADED, later(-120)), ("c", "run.finished", AT)):
            record_service_event(session, kind, key, labels={"channel": "ops"}, data={"reason": key}, at=at)
    found = queries.upkeep(AT, timedelta(hours=1))
    assert [(one.reason, one.channel, one.at) for one in found.notices] == [("a", "ops", AT)]
    assert found.channels == ()
