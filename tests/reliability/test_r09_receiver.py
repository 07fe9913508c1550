"""R9: a receiver that is down, slow, busy, gone or broken loses nothing, and nobody else waits for it."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from monitor.config.service import Channel
from monitor.deliveries.retry import MAX_ATTEMPTS
from monitor.deliveries.sender import CONNECT_TIMEOUT_S
from monitor.store.delivery_records import DeliveryEntry
from monitor.store.vocabulary import DeliveryStatus
from probes.address import AddressPolicy
from probes.clock import SystemClock
from probes.transport import Transport
from tests.endpoints import hostile
from tests.endpoints.certificates import Authority
from tests.endpoints.server import Connection, Handler, Received
from tests.monitor.deliveries.courier import Courier, courier
from tests.monitor.deliveries.material import AT, HOUR, MINUTE, channel
from tests.monitor.deliveries.receiver import Receiver, Taken, busy

pytestmark = pytest.mark.reliability

HANG_GUARD_S = 60
PROVIDERS = 5


@pytest.fixture
def receivers() -> Iterator[tuple[Receiver, Receiver]]:
    with ExitStack() as stack:
        yield stack.enter_context(Receiver()), stack.enter_context(Receiver())


def private(name: str, receiver: Receiver) -> Channel:
    return channel(name, receiver.url, allow_private=True, per_minute=10_000)


def live_through_an_hour_of_alerts(service: Courier, turns: int) -> None:
    """In each turn of an hour an alert of each of five groups fires, and is over half a turn later."""
    for turn in range(turns):
        numbers = range(turn * PROVIDERS, (turn + 1) * PROVIDERS)
        for number in numbers:
            service.fire(number, provider=f"p{number % PROVIDERS}")
        service.work_for(HOUR / turns / 2)
        for number in numbers:
            service.resolve(number)
        service.work_for(HOUR / turns / 2)


def wait(entry: DeliveryEntry) -> timedelta:
    assert entry.finished_at is not None
    return entry.finished_at - entry.created_at


def in_order(taken: list[Taken]) -> bool:
    """Whether every alert that these messages tell of fires first, is resolved next, and never comes again."""
    told: dict[str, list[str]] = {}
    for message in taken:
        for alert, state in message.states.items():
            told.setdefault(alert, []).append(state)
    return all(states == sorted(states) and states.count("resolved") == 1 for states in told.values())


@pytest.mark.parametrize("turns", [12, pytest.param(50, marks=pytest.mark.soak)])
def test_a_receiver_that_was_down_for_an_hour_gets_everything_once_and_in_order_and_no_other_waits(
    database_url: str, receivers: tuple[Receiver, Receiver], turns: int
) -> None:
    down, healthy = receivers
    with courier(database_url, private("down", down), private("healthy", healthy)) as service:
        down.fault = hostile.always(503, "down")
        live_through_an_hour_of_alerts(service, turns)
        down.fault = None
        service.work_for(70 * MINUTE)

        assert service.open() == []
        assert service.statuses() == {DeliveryStatus.DELIVERED}
        for receiver, name in ((down, "down"), (healthy, "healthy")):
            sent = [entry.id for entry in service.entries(channel=name) if entry.type != "monitor.degraded"]
            taken = [message for message in receiver.taken if message.type != "monitor.degraded"]
            assert sorted(message.id for message in taken) == sorted(sent)
            assert len(sent) == 2 * turns * PROVIDERS
            assert [group for group, messages in receiver.by_group().items() if not in_order(messages)] == []
            assert len({alert for message in taken for alert in message.states}) == turns * PROVIDERS
        assert max(down.tries.values()) > 5
        assert set(healthy.tries.values()) == {1}
        assert max(wait(entry) for entry in service.entries(channel="healthy")) < timedelta(seconds=5)


def test_a_receiver_that_hangs_holds_up_no_other_and_no_database(
    database_url: str, receivers: tuple[Receiver, Receiver]
) -> None:
    slow, healthy = receivers
    arrived, release = threading.Event(), threading.Event()

    async def hangs(received: Received, connection: Connection) -> None:
        arrived.set()
        while not release.is_set():
            await asyncio.sleep(0.01)
        await connection.reply(204, b"")

    slow.fault = hangs
    with (
        courier(database_url, private("slow", slow), private("healthy", healthy), timeout_s=HANG_GUARD_S) as service,
        ThreadPoolExecutor(1) as other_worker,
    ):
        service.fire(1)
        service.now += MINUTE
        service.dispatch.fan_out(service.now)
        service.now += MINUTE
        service.dispatch.flush_due(service.now)
        mine, theirs = (service.entries(channel=name)[0].id for name in ("slow", "healthy"))

        hanging = other_worker.submit(service.dispatch.deliver, mine, "worker-2", service.now)
        assert arrived.wait(HANG_GUARD_S)
        delivered = service.dispatch.deliver(theirs, "worker-1", service.now)
        service.fire(2, provider="other")
        taken_twice = service.dispatch.deliver(mine, "worker-1", service.now)
        release.set()

        assert delivered is not None
        assert delivered.tried.http_status == 204
        assert taken_twice is None
        finished = hanging.result(HANG_GUARD_S)
        assert finished is not None
        assert finished.tried.ok
        assert slow.tries.total() == 1


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (hostile.says_nothing, "There was no answer within 0.5 s."),
        (hostile.reset_mid_body, "closed the connection before its answer was complete."),
        (hostile.not_http, "does not answer in HTTP."),
        (hostile.always(500, "oops"), "answered 500"),
        (busy(429, "2"), "answered 429"),
        (busy(502), "answered 502"),
        (hostile.redirect("http://127.0.0.1:9/elsewhere", 301), "answered 301"),
        (hostile.redirect("http://127.0.0.1:9/elsewhere", 308), "answered 308"),
        (hostile.always(404, "who?"), "answered 404"),
    ],
    ids=["silent", "reset", "no-http", "500", "429", "502", "301", "308", "404"],
)
def test_what_goes_wrong_once_is_tried_again_under_the_same_id(
    database_url: str, receivers: tuple[Receiver, Receiver], fault: Handler, error: str
) -> None:
    receiver, _ = receivers
    receiver.fault = fault
    with courier(database_url, private("ops", receiver)) as service:
        service.fire(1)
        service.work_for(timedelta(seconds=2))
        (failed,) = service.entries()
        receiver.fault = None
        service.work_for(MINUTE)
        (done,) = service.entries()

        assert failed.status is DeliveryStatus.PENDING
        assert error in (failed.error or "")
        assert (done.status, done.error) == (DeliveryStatus.DELIVERED, None)
        assert receiver.tries == {failed.id: 2}
        assert [attempt.http_status for attempt in service.deliveries.attempts(done.id)][-1] == 204


def test_a_receiver_with_a_bad_certificate_gets_nothing_until_it_is_put_right(
    database_url: str, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    trusted: list[ssl.SSLContext] = []

    def opened(policy: AddressPolicy) -> Transport:
        tls = trusted[0] if trusted else None
        return Transport(policy, clock=SystemClock(), max_connections=1, connect_timeout_s=CONNECT_TIMEOUT_S, tls=tls)

    with (
        Receiver(tls=authority.server_context("127.0.0.1")) as receiver,
        courier(database_url, private("ops", receiver), transport=opened) as service,
    ):
        service.fire(1)
        service.work_for(timedelta(seconds=2))
        (failed,) = service.entries()
        received = len(receiver.received)
        trusted.append(authority.client_context())
        service.work_for(MINUTE)

        assert "TLS certificate" in (failed.error or "")
        assert received == 0
        assert [taken.id for taken in receiver.taken] == [failed.id]


def test_retry_after_is_honoured_for_the_whole_channel(database_url: str, receivers: tuple[Receiver, Receiver]) -> None:
    receiver, healthy = receivers
    receiver.fault = busy(429, "600")
    with courier(database_url, private("ops", receiver), private("healthy", healthy)) as service:
        for number in range(5):
            service.fire(number, provider=f"p{number}")
        service.work_for(9 * MINUTE)
        asked = receiver.tries.total()
        receiver.fault = None
        service.work_for(12 * MINUTE)

        assert asked == 1
        assert len(receiver.taken) == 5
        assert service.open() == []
        assert len(healthy.taken) == 5


def test_a_receiver_that_is_gone_is_switched_off_and_the_other_channel_is_told(
    database_url: str, receivers: tuple[Receiver, Receiver]
) -> None:
    gone, healthy = receivers
    gone.fault = hostile.always(410, "gone")
    with courier(database_url, private("gone", gone), private("healthy", healthy)) as service:
        service.fire(1)
        service.work_for(HOUR)
        service.fire(2, provider="other")
        service.work_for(HOUR)
        tried = gone.tries.total()
        waiting = [entry.channel for entry in service.open()]
        gone.fault = None
        service.deliveries.redeliver([service.open()[0].id], service.now)
        service.work()

        assert tried == 1
        assert waiting == ["gone", "gone"]
        degraded = [taken for taken in healthy.taken if taken.type == "monitor.degraded"]
        assert [taken.body["data"]["labels"] for taken in degraded] == [{"channel": "gone"}]
        assert "410" in degraded[0].body["data"]["reason"]
        assert service.open() == []
        assert len(gone.taken) == 2


def test_ten_failures_in_a_row_are_told_by_the_other_channel_once(
    database_url: str, receivers: tuple[Receiver, Receiver]
) -> None:
    down, healthy = receivers
    down.fault = hostile.always(500, "down")
    with courier(database_url, private("down", down), private("healthy", healthy)) as service:
        for number in range(3):
            service.fire(number, provider=f"p{number}")
        service.work_for(timedelta(hours=5))

        assert down.tries.total() > 20
        degraded = [taken for taken in healthy.taken if taken.type == "monitor.degraded"]
        assert [taken.body["data"]["failures"] for taken in degraded] == [10]


def test_after_a_day_and_a_third_a_delivery_is_given_up_told_elsewhere_and_can_be_sent_again(
    database_url: str, receivers: tuple[Receiver, Receiver]
) -> None:
    down, healthy = receivers
    down.fault = hostile.always(500, "down")
    with courier(
        database_url, private("down", down), private("healthy", healthy), route={"repeat": 86_400.0 * 7}
    ) as service:
        service.fire(1)
        service.work_for(timedelta(hours=40))
        (entry,) = service.entries(channel="down")
        down.fault = None
        again = service.deliveries.redeliver([entry.id], service.now)
        service.work()

        assert (entry.status, entry.attempts) == (DeliveryStatus.FAILED, MAX_ATTEMPTS)
        assert down.tries == {entry.id: MAX_ATTEMPTS + 1}
        reasons = [taken.body["data"]["reason"] for taken in healthy.taken if taken.type == "monitor.degraded"]
        assert any("given up" in reason for reason in reasons)
        assert again == [entry.id]
        assert [taken.id for taken in down.taken] == [entry.id]


def test_what_fired_and_ended_while_nobody_listened_is_told_in_one_message(
    database_url: str, receivers: tuple[Receiver, Receiver]
) -> None:
    down, _ = receivers
    down.fault = hostile.always(500, "down")
    with courier(database_url, private("down", down)) as service:
        service.fire(1)
        service.work_for(HOUR)
        service.resolve(1)
        service.work_for(6 * HOUR)
        before = [entry.status for entry in service.entries()]
        down.fault = None
        service.work_for(timedelta(hours=12))

        assert before == [DeliveryStatus.CANCELLED, DeliveryStatus.CANCELLED, DeliveryStatus.PENDING]
        (taken,) = down.taken
        assert (taken.type, taken.body["data"]["reason"]) == ("alert.resolved", "fired_and_resolved")
        assert taken.states == {"alr_0001": "resolved"}
        assert service.open() == []


def test_a_retry_by_hand_does_not_wait_for_the_plan(database_url: str, receivers: tuple[Receiver, Receiver]) -> None:
    receiver, _ = receivers
    receiver.fault = busy(503, "3600")
    with courier(database_url, private("ops", receiver)) as service:
        for number in range(20):
            service.fire(number, provider=f"p{number}")
        service.work_for(3 * HOUR)
        receiver.fault = None
        service.deliveries.redeliver_between("ops", AT, service.now, service.now)
        service.work_for(MINUTE)

        assert len(receiver.taken) == 20
        assert service.open() == []
