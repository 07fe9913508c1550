from __future__ import annotations

from datetime import timedelta

from sqlalchemy import select

from monitor import clock
from monitor.store import RunStatus
from monitor.store.tables import Alert
from monitor.worker.canary import CONNECTIVITY, Connectivity
from monitor.worker.execute import execute
from monitor.worker.sweep import sweep
from monitor.worker.tick import TICKING, Ticking, tick
from tests.reliability.service import Service

HOUR = timedelta(hours=1)
HOURLY = [{"id": "hourly", "every": "1h", "probes": ["logprobs"], "n": 12}]


def alerts(service: Service) -> list[str]:
    with service.store.sessions.read() as session:
        return list(session.scalars(select(Alert.rule)))


def test_a_new_endpoint_is_checked_at_once_and_then_by_its_schedule(service: Service) -> None:
    service.configure("https://api.test/v1", provider={"allow_private": False}, schedules=HOURLY)
    now = clock.now()

    with service.context() as context:
        (check_id,) = tick(context, now)
        again = tick(context, now + timedelta(seconds=10))

    assert again == []
    entry = service.entry(check_id)
    assert (entry.schedule, entry.options) == ("hourly", {"probes": ["logprobs"], "n": 12})
    assert entry.slot_at <= now < entry.slot_at + HOUR


def test_the_second_slot_of_a_new_endpoint_waits_until_the_first_is_done(service: Service) -> None:
    on_time = [{**HOURLY[0], "jitter": "0%"}]
    service.configure("https://api.test/v1", provider={"allow_private": False}, schedules=on_time)
    now = clock.now()
    with service.context() as context:
        (first,) = tick(context, now)
        making = context.queue.claim(first, "another worker", now)
        assert making is not None
        (second,) = tick(context, service.entry(first).slot_at + HOUR)

        execute(context, second)

    assert service.entry(second).status is RunStatus.QUEUED


def test_slots_that_a_wrong_clock_entered_hold_up_nothing(service: Service) -> None:
    service.configure("https://api.test/v1", provider={"allow_private": False}, schedules=HOURLY)
    now = clock.now()
    with service.context() as context:
        tick(context, now + timedelta(days=3653))

        assert len(tick(context, now)) == 1
        assert tick(context, now + timedelta(seconds=10)) == []


def test_of_a_new_endpoint_nothing_is_to_be_heard_yet(service: Service) -> None:
    service.configure("https://api.test/v1", provider={"allow_private": False}, schedules=HOURLY)
    now = clock.now()

    with service.context() as context:
        context.beats.put_setting(TICKING, Ticking(now, now - 4 * HOUR).to_json(), now)
        tick(context, now)

    assert alerts(service) == []


def test_silence_is_counted_from_when_the_service_began_to_watch(service: Service) -> None:
    service.configure("https://api.test/v1", provider={"allow_private": False}, schedules=HOURLY)
    later = clock.now() + 4 * HOUR
    with service.context() as context:
        tick(context, later)
        assert alerts(service) == []
        context.beats.put_setting(TICKING, Ticking(later, later - 4 * HOUR).to_json(), later)
        tick(context, later)

    assert alerts(service) == ["no-data"]


def test_while_offline_silence_is_nobodys_fault(service: Service) -> None:
    service.configure("https://api.test/v1", provider={"allow_private": False}, schedules=HOURLY)
    later = clock.now() + 4 * HOUR
    with service.context() as context:
        context.beats.put_setting(TICKING, Ticking(later, later - 4 * HOUR).to_json(), later)
        context.beats.put_setting(CONNECTIVITY, Connectivity(later, since=later).to_json(), later)
        tick(context, later)

    assert alerts(service) == []


def test_the_sweeper_rings_again_for_what_nobody_took(service: Service) -> None:
    (check_id,) = service.enqueue(service.configure("http://127.0.0.1:9/v1"), "unheard", ring=False)
    with service.context() as context:
        first = sweep(context, clock.now() + timedelta(seconds=1))
        at_once = sweep(context, clock.now() + timedelta(seconds=1.1))

    assert first.to_ring == (check_id,)
    assert at_once.to_ring == ()
