from __future__ import annotations

from datetime import timedelta

from sqlalchemy import select

from monitor import clock
from monitor.store.tables import Alert
from monitor.worker.canary import CONNECTIVITY, Connectivity
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
