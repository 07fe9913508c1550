"""Deliveries in the database: made once, in line, claimed by one, and kept until they are told."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest

from monitor.alerts.events import EventKind
from monitor.alerts.states import AlertState, Severity
from monitor.deliveries.attempt import Tried
from monitor.deliveries.retry import next_step
from monitor.errors import NotFoundError
from monitor.redaction import KNOWN_SECRETS
from monitor.store.delivery_lines import LEASE
from monitor.store.delivery_records import ClaimedDelivery
from monitor.store.keyset import Window
from monitor.store.outbox import record_service_event
from monitor.store.vocabulary import DeliveryStatus
from tests.monitor.deliveries.courier import Courier, courier
from tests.monitor.deliveries.material import AT, HOUR, MINUTE, channel

FAILED = Tried(http_status=500)
DONE = Tried(http_status=204)


@pytest.fixture
def service(database_url: str) -> Iterator[Courier]:
    """Two channels, and nothing is ever sent."""
    with courier(database_url, channel("ops"), channel("chat")) as opened:
        yield opened


def tell(service: Courier) -> None:
    """Everything up to the deliveries, within the two seconds that a group waits."""
    service.dispatch.fan_out(service.now)
    service.now += timedelta(seconds=2)
    service.dispatch.flush_due(service.now)


def claim(service: Courier, delivery_id: str, owner: str = "w1", per_minute: int = 1000) -> ClaimedDelivery | None:
    return service.deliveries.claim(delivery_id, owner, service.now, per_minute=per_minute)


def finish(service: Courier, claimed: ClaimedDelivery | None, tried: Tried = DONE) -> bool:
    assert claimed is not None
    step = next_step(claimed.entry.id, claimed.attempt, tried.http_status, tried.retry_after, service.now)
    return service.deliveries.finish_try(claimed, tried, step, service.now)


def ids(service: Courier, name: str = "ops") -> list[str]:
    """A channel's deliveries, line by line."""
    found = sorted(service.entries(channel=name), key=lambda entry: (entry.group_key, entry.seq))
    return [entry.id for entry in found]


def types(service: Courier) -> list[str]:
    return [service.deliveries.entry(delivery).type for delivery in ids(service)]


def test_an_event_is_fanned_out_once_however_many_workers_do_it(service: Courier) -> None:
    for number in range(10):
        service.fire(number, provider=f"p{number % 2}")
    tell(service)
    for number in range(10):
        service.step(number, EventKind.ACKED, AlertState.FIRING)
    together = Barrier(3, timeout=60)

    def work(_: int) -> list[str]:
        together.wait()
        return service.dispatch.fan_out(service.now)

    with ThreadPoolExecutor(3) as pool:
        made = [delivery for one in pool.map(work, range(3)) for delivery in one]

    assert len(made) == len(set(made)) == 20
    assert service.deliveries.alert_steps(10) == []


def test_a_group_is_told_once_however_many_workers_flush_it(service: Courier) -> None:
    for number in range(6):
        service.fire(number, provider=f"p{number % 3}")
    service.dispatch.fan_out(service.now)
    service.now += MINUTE
    together = Barrier(3, timeout=60)

    def work(_: int) -> list[str]:
        together.wait()
        return service.dispatch.flush_due(service.now)

    with ThreadPoolExecutor(3) as pool:
        made = [delivery for one in pool.map(work, range(3)) for delivery in one]

    assert sorted(made) == sorted(entry.id for entry in service.entries())
    assert sorted(alert for entry in service.entries(channel="ops") for alert in entry.alert_ids) == [
        f"alr_{number:04}" for number in range(6)
    ]


def test_one_of_many_workers_gets_a_delivery(service: Courier) -> None:
    service.fire(1)
    tell(service)
    (delivery, *_) = ids(service)
    together = Barrier(4, timeout=60)

    def work(number: int) -> ClaimedDelivery | None:
        together.wait()
        return claim(service, delivery, f"w{number}")

    with ThreadPoolExecutor(4) as pool:
        claimed = [found for found in pool.map(work, range(4)) if found is not None]

    assert len(claimed) == 1
    assert claimed[0].attempt == 1


def test_a_line_is_sent_in_order_and_lines_do_not_wait_for_each_other(service: Courier) -> None:
    service.fire(1)
    tell(service)
    service.resolve(1)
    service.fire(2, provider="other")
    tell(service)
    first, second, other = ids(service)

    assert set(service.dispatch.due(service.now)) & set(ids(service)) == {first, other}
    assert claim(service, second) is None
    claimed = claim(service, first)
    assert claim(service, second) is None
    finish(service, claimed)
    assert service.deliveries.following(service.deliveries.entry(first)) == second
    assert claim(service, second) is not None


def test_a_lost_lease_is_taken_over_and_its_owner_comes_too_late(service: Courier) -> None:
    service.fire(1)
    tell(service)
    (delivery,) = ids(service)
    lost = claim(service, delivery, "dead")
    service.now += LEASE

    assert claim(service, delivery, "w2") is None
    service.now += timedelta(seconds=1)
    taken = claim(service, delivery, "w2")

    assert finish(service, lost) is False
    assert service.deliveries.entry(delivery).status is DeliveryStatus.LEASED
    assert finish(service, taken) is True
    assert service.deliveries.entry(delivery).status is DeliveryStatus.DELIVERED
    assert len(service.deliveries.attempts(delivery)) == 2


def test_a_channel_sends_no_more_than_its_rate(service: Courier) -> None:
    for number in range(4):
        service.fire(number, provider=f"p{number}")
    tell(service)
    waiting = ids(service)

    granted = [found for delivery in waiting if (found := claim(service, delivery, per_minute=2))]
    assert len(granted) == 2
    assert [found.attempt for found in granted] == [1, 1]
    assert set(service.dispatch.due(service.now)) & set(waiting) == set()
    service.now += timedelta(seconds=31)
    assert len(set(service.dispatch.due(service.now)) & set(waiting)) == 2


def test_a_try_is_kept_short_and_without_secrets_and_zeros(service: Courier) -> None:
    KNOWN_SECRETS.add("canary-77ab12")
    service.fire(1)
    tell(service)
    (delivery,) = ids(service)
    answer = "a\0b canary-77ab12 " + "x" * 100_000

    finish(service, claim(service, delivery), Tried(http_status=500, response=answer, milliseconds=12.5))

    (kept,) = service.deliveries.attempts(delivery)
    assert (kept.http_status, kept.milliseconds) == (500, 12.5)
    assert kept.response is not None
    assert kept.response.startswith("ab [redacted] xxx")
    assert len(kept.response) == 2048


def test_an_alert_that_never_fired_is_not_told(service: Courier) -> None:
    service.fire(1, state=AlertState.PENDING, fired_at=None)
    service.step(1, EventKind.CLOSED, AlertState.RESOLVED, resolved_at=AT)
    tell(service)

    assert service.entries() == []


def test_an_acknowledgement_is_told_to_those_who_heard_of_the_alert_and_stops_repeats(service: Courier) -> None:
    service.fire(1)
    tell(service)
    service.step(1, EventKind.ACKED, AlertState.FIRING, acked_at=service.now, acked_by="ana")
    tell(service)
    sent = [finish(service, claim(service, delivery)) for delivery in ids(service)]
    service.now += 3 * timedelta(days=1)
    service.dispatch.flush_due(service.now)
    service.resolve(1)
    tell(service)

    assert sent == [True, True]
    assert types(service) == ["alert.firing", "alert.acknowledged", "alert.resolved"]


def test_an_acknowledgement_before_anything_was_told_is_nobodys_business(service: Courier) -> None:
    service.fire(1)
    service.step(1, EventKind.ACKED, AlertState.FIRING, acked_at=service.now, acked_by="ana")
    tell(service)

    assert service.entries() == []


def test_flapping_is_told_in_place_of_what_flaps(service: Courier) -> None:
    service.fire(1, flapping=True)
    service.step(1, EventKind.FLAPPING, AlertState.FIRING)
    tell(service)
    service.step(1, EventKind.CALM, AlertState.FIRING, flapping=False)
    tell(service)
    service.resolve(1)
    tell(service)

    assert types(service) == ["alert.flapping", "alert.flapping", "alert.resolved"]


def test_an_alert_that_becomes_more_severe_is_told_again(service: Courier) -> None:
    service.fire(1, severity=Severity.WARNING)
    tell(service)
    service.step(1, EventKind.ESCALATED, AlertState.FIRING, severity=Severity.CRITICAL)
    tell(service)

    assert types(service) == ["alert.firing", "alert.firing"]


def test_an_event_of_the_service_reported_twice_is_told_once_to_every_channel_that_hears_it(service: Courier) -> None:
    for _ in range(2):
        with service.store.sessions.write() as session:
            record_service_event(session, "budget.exhausted", "budget:acme:2026-11-29", at=AT, data={"limit": 2.0})
            record_service_event(session, "run.finished", "run:1", at=AT)
            record_service_event(session, "something.new", "x", at=AT)
        service.dispatch.fan_out(service.now)

    assert {(entry.channel, entry.type) for entry in service.entries()} == {
        ("ops", "budget.exhausted"),
        ("chat", "budget.exhausted"),
    }
    assert len(service.entries()) == 2
    assert service.deliveries.event_steps(10) == []


def test_a_delivery_of_a_channel_that_is_gone_is_cancelled(service: Courier) -> None:
    service.fire(1)
    tell(service)
    service.dispatch.routes.channels.pop("chat")  # type: ignore[attr-defined]

    assert service.dispatch.deliver(ids(service, "chat")[0], "w1", service.now) is None
    assert [entry.status for entry in service.entries(channel="chat")] == [DeliveryStatus.CANCELLED]
    service.now += timedelta(days=2)
    assert service.dispatch.flush_due(service.now) == ids(service)[1:]


def test_what_is_sent_again_goes_before_what_came_later(service: Courier) -> None:
    service.fire(1)
    tell(service)
    service.resolve(1)
    tell(service)
    first, second = ids(service)
    finish(service, claim(service, first))

    assert service.deliveries.redeliver([first], service.now) == [first]
    assert claim(service, second) is None
    again = claim(service, first)
    assert again is not None
    assert again.attempt == 1


def test_one_that_is_being_sent_is_not_sent_again_beside_it(service: Courier) -> None:
    service.fire(1)
    tell(service)
    (delivery,) = ids(service)
    claim(service, delivery)

    assert service.deliveries.redeliver([delivery], service.now) == []


def test_of_each_alert_the_latest_message_to_every_channel_is_known(service: Courier) -> None:
    told, untold = service.fire(1), "alr_9999"
    tell(service)
    service.resolve(1)
    tell(service)

    found = service.deliveries.told([told, untold])

    assert {each.type for each in found[told]} == {"alert.resolved"}
    assert [each.channel for each in found[told]] == sorted({entry.channel for entry in service.entries()})
    assert found[untold] == ()


def test_sending_again_what_is_not_there_is_refused(service: Courier) -> None:
    with pytest.raises(NotFoundError, match="no delivery msg_x"):
        service.deliveries.redeliver(["msg_x"], service.now)


def test_a_message_with_a_firing_alert_is_not_summed_up(service: Courier) -> None:
    service.fire(1)
    service.fire(2)
    tell(service)
    service.resolve(1)
    tell(service)
    service.now += 7 * HOUR

    service.dispatch.flush_due(service.now)
    assert len(ids(service)) == 2
    assert service.statuses() == {DeliveryStatus.PENDING}


def test_old_deliveries_go_with_their_tries_and_open_ones_stay(service: Courier) -> None:
    service.fire(1)
    tell(service)
    (mine,), (theirs,) = ids(service), ids(service, "chat")
    finish(service, claim(service, mine))
    later = service.now + 31 * timedelta(days=1)

    assert service.deliveries.prune(later - timedelta(days=30)) == 1
    assert [entry.id for entry in service.entries()] == [theirs]
    assert service.deliveries.pending() == {"chat": 1}


def test_pages_of_deliveries_begin_with_the_newest(service: Courier) -> None:
    for number in range(3):
        service.fire(number, provider=f"p{number}")
        tell(service)

    first = service.deliveries.page(Window(2), channel="ops")
    second = service.deliveries.page(Window(2, first.next), channel="ops")

    assert [entry.id for entry in (*first.items, *second.items)] == list(reversed(ids(service)))
    assert second.next is None


def test_a_channels_health_is_seen(service: Courier) -> None:
    service.fire(1)
    tell(service)
    finish(service, claim(service, ids(service)[0]), FAILED)
    finish(service, claim(service, ids(service, "chat")[0]))

    states = {state.channel: state for state in service.deliveries.channels()}
    assert (states["ops"].failures, states["ops"].reason) == (1, "answered 500")
    assert (states["chat"].failures, states["chat"].ok_at) == (0, service.now)
