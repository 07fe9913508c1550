from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from monitor import clock
from monitor.store import RunStatus
from monitor.store.tables import Alert, ServiceEvent
from monitor.worker.canary import CONNECTIVITY, Connectivity
from monitor.worker.context import Context
from monitor.worker.execute import execute
from monitor.worker.names import PRUNE
from monitor.worker.prune import prune
from monitor.worker.sweep import sweep
from monitor.worker.tick import TICKING, Ticking, tick
from tests.monitor.store.material import finished_run
from tests.reliability.service import Service

HOUR = timedelta(hours=1)
HOURLY = [{"id": "hourly", "every": "1h", "probes": ["logprobs"], "n": 12}]


def alerts(service: Service) -> list[str]:
    with service.store.sessions.read() as session:
        return list(session.scalars(select(Alert.rule)))


def told_of_ours(service: Service) -> list[Any]:
    with service.store.sessions.read() as session:
        told = session.scalars(select(ServiceEvent).where(ServiceEvent.type == "monitor.degraded")).all()
    return [event.data["error"] for event in told]


def watching(context: Context, now: datetime, since: timedelta = 4 * HOUR) -> None:
    """Ticks have come without a gap for so long."""
    context.beats.put_setting(TICKING, Ticking(now, now - since).to_json(), now)


def failed(context: Context, check_id: str, code: str, at: datetime) -> None:
    claimed = context.queue.claim(check_id, "worker", at)
    assert claimed is not None
    context.queue.finish(claimed.lease, status=RunStatus.FAILED, error_code=code, at=at)


def silent(context: Context, now: datetime, code: str = "provider_rejected") -> None:
    """The last check has failed, and nothing was heard for long."""
    (check_id,) = tick(context, now)
    failed(context, check_id, code, now)
    watching(context, now)


def test_a_new_endpoint_is_checked_at_once_and_then_by_its_schedule(service: Service) -> None:
    service.configure("https://api.test/v1", provider={"allow_private": False}, schedules=HOURLY)
    now = clock.now()

    with service.context() as context:
        (check_id,) = tick(context, now)
        # At the same moment: the next slot may begin in the next one.
        again = tick(context, now)

    assert again == []
    entry = service.entry(check_id)
    assert (entry.schedule, entry.options) == ("hourly", {"probes": ["logprobs"], "n": 12})
    # The part by which a check may come late.
    assert entry.slot_at <= now < entry.slot_at + 1.2 * HOUR


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
        (check_id,) = tick(context, later)
        failed(context, check_id, "provider_rejected", later)
        tick(context, later)
        assert alerts(service) == []
        watching(context, later)
        tick(context, later)

    assert alerts(service) == ["no-data"]


@pytest.mark.parametrize("code", ["provider_unreachable", "address_forbidden"])
def test_silence_of_a_provider_is_an_alert(service: Service, code: str) -> None:
    service.configure("https://api.test/v1", provider={"allow_private": False}, schedules=HOURLY)
    now = clock.now() + 4 * HOUR
    with service.context() as context:
        silent(context, now, code)
        tick(context, now)

    assert alerts(service) == ["no-data"]
    assert told_of_ours(service) == []


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("budget_exhausted", []),
        ("model_not_found", []),
        ("secret_missing", ["secret_missing"]),
    ],
)
def test_silence_for_a_fault_of_ours_is_no_alert_of_the_endpoint_and_is_told_once_a_day(
    service: Service, code: str, told: list[str]
) -> None:
    service.configure("https://api.test/v1", provider={"allow_private": False}, schedules=HOURLY)
    noon = clock.now().replace(hour=12) + timedelta(days=1)
    with service.context() as context:
        silent(context, noon, code)
        for _ in range(2):
            tick(context, noon)

    assert alerts(service) == []
    assert told_of_ours(service) == told


def test_while_no_worker_takes_checks_no_endpoint_is_blamed(service: Service) -> None:
    service.configure("https://api.test/v1", provider={"allow_private": False}, schedules=HOURLY)
    noon = clock.now().replace(hour=12) + timedelta(days=1)
    with service.context() as context:
        for hours in (0, 1, 2):
            now = noon + hours * HOUR
            watching(context, now)
            tick(context, now)
            sweep(context, now)

    assert alerts(service) == []
    assert told_of_ours(service) == ["expired"]


def test_a_verdict_of_a_clock_that_ran_ahead_does_not_hide_the_silence(service: Service) -> None:
    endpoint_id = service.configure("https://api.test/v1", provider={"allow_private": False}, schedules=HOURLY)
    now = clock.now() + 4 * HOUR
    finished_run(service.store, endpoint_id, now + timedelta(days=3653))
    with service.context() as context:
        silent(context, now)
        tick(context, now)

    assert alerts(service) == ["no-data"]


def test_while_offline_silence_is_nobodys_fault(service: Service) -> None:
    service.configure("https://api.test/v1", provider={"allow_private": False}, schedules=HOURLY)
    later = clock.now() + 4 * HOUR
    with service.context() as context:
        silent(context, later)
        context.beats.put_setting(CONNECTIVITY, Connectivity(later, since=later).to_json(), later)
        tick(context, later)
        assert alerts(service) == []

        # The canary has stopped since: nothing is known.
        before = later - timedelta(minutes=6)
        context.beats.put_setting(CONNECTIVITY, Connectivity(before, since=before).to_json(), later)
        tick(context, later)

    assert alerts(service) == ["no-data"]


def test_what_is_old_is_deleted_every_hour_however_often_the_service_is_started(service: Service) -> None:
    rung: list[str] = []

    class Heard:
        def ring(self, task: str, *ids: str) -> None:
            rung.append(task)

    service.configure("https://api.test/v1", provider={"allow_private": False})
    now = clock.now()
    for minutes, due in ((0, True), (20, False), (59, False), (61, True), (-61, True)):
        with service.context() as context:
            context.bell = Heard()
            tick(context, now + timedelta(minutes=minutes))
            assert (PRUNE in rung) is due, minutes
            if minutes == 0:
                prune(context, now)
        rung.clear()


def test_the_sweeper_rings_again_for_what_nobody_took(service: Service) -> None:
    (check_id,) = service.enqueue(service.configure("http://127.0.0.1:9/v1"), "unheard", ring=False)
    with service.context() as context:
        first = sweep(context, clock.now() + timedelta(seconds=1))
        at_once = sweep(context, clock.now() + timedelta(seconds=1.1))

    assert first.to_ring == (check_id,)
    assert at_once.to_ring == ()
