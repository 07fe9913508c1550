"""R8: the clock jumps, summer time begins and ends, the machine sleeps: at most one check to catch up, and no alert."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitor.alerts.rule import BUILT_IN
from monitor.config import load_config
from monitor.schedule.slots import PATIENCE
from monitor.store import EndpointRecord
from monitor.worker.configured import Configured, KnownEndpoint
from monitor.worker.tick import Ticking, requests_due, ticked

pytestmark = pytest.mark.reliability

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
ENDPOINTS = 7
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


def configured(folder: Path, **schedule: Any) -> Configured:
    file = folder / "providers.yaml"
    models = [{"model": f"m{number}", "name": f"m{number}"} for number in range(ENDPOINTS)]
    document = {
        "version": 1,
        "models": {entry["model"]: {} for entry in models},
        "providers": [{"slug": "x", "base_url": "https://api.test/v1", "models": models}],
        "schedules": [{"id": "all", **schedule}],
    }
    file.write_text(yaml.safe_dump(document))
    config = load_config(file)
    known = {
        f"ep_{number}": KnownEndpoint(_record(f"ep_{number}", endpoint.model), endpoint, config.schedule_of(endpoint))
        for number, endpoint in enumerate(config.all_endpoints())
    }
    return Configured(config, known)


def _record(endpoint_id: str, model: str) -> EndpointRecord:
    return EndpointRecord(endpoint_id, "x", "https://api.test/v1", model, model, {}, {}, {}, NOON)


class Service:
    """Ticks at the times it is told; `slots` holds every endpoint and slot that was entered."""

    def __init__(self, configured: Configured) -> None:
        self.configured = configured
        self.last: dict[str, datetime] = {}
        self.slots: list[tuple[str, datetime]] = []

    def tick(self, now: datetime) -> list[datetime]:
        """The slots that were entered."""
        requests = list(requests_due(self.configured, self.last, now))
        for request in requests:
            self.last[request.endpoint_id] = max(request.slot_at, self.last.get(request.endpoint_id, request.slot_at))
            self.slots.append((request.endpoint_id, request.slot_at))
        return [request.slot_at for request in requests]

    def run(self, start: datetime, end: datetime, every: timedelta = timedelta(seconds=10)) -> None:
        now = start
        while now < end:
            self.tick(now)
            now += every


@pytest.mark.parametrize("catch_up", ["skip", "once"])
@pytest.mark.parametrize(
    "schedule", [{"every": "15m", "jitter": "0%"}, {"cron": "*/15 * * * *"}], ids=["interval", "cron"]
)
@pytest.mark.parametrize("jump", [HOUR, -HOUR, 8 * HOUR], ids=["forward", "back", "suspended for 8 h"])
def test_after_a_jump_each_endpoint_is_checked_once_at_most(
    tmp_path: Path, schedule: dict[str, Any], catch_up: str, jump: timedelta
) -> None:
    service = Service(configured(tmp_path, catch_up=catch_up, **schedule))
    service.run(NOON, NOON + HOUR)
    before = len(service.slots)

    service.run(NOON + HOUR + jump, NOON + HOUR + jump + MINUTE)

    entered = service.slots[before:]
    missed = Counter(endpoint_id for endpoint_id, slot in entered if NOON + HOUR + jump - slot > PATIENCE)
    assert all(count == 1 for count in missed.values())
    if catch_up == "skip":
        assert not missed
    if jump < timedelta(0):
        assert not entered
    assert len(set(service.slots)) == len(service.slots)


@pytest.mark.parametrize("night", [datetime(2026, 3, 28, 12, tzinfo=UTC), datetime(2026, 10, 24, 12, tzinfo=UTC)])
def test_where_summer_time_begins_or_ends_a_daily_check_is_made_once(tmp_path: Path, night: datetime) -> None:
    service = Service(configured(tmp_path, cron="30 2 * * *", tz="Europe/Berlin"))

    service.run(night, night + timedelta(days=1), MINUTE)

    assert Counter(endpoint_id for endpoint_id, _ in service.slots) == {f"ep_{n}": 1 for n in range(ENDPOINTS)}


def test_a_deadline_is_never_before_the_check_was_entered(tmp_path: Path) -> None:
    known = configured(tmp_path, every="15m", catch_up="once")
    last = {endpoint_id: NOON - timedelta(days=3) for endpoint_id in known.endpoints}

    assert all(request.deadline is not None and request.deadline > NOON for request in requests_due(known, last, NOON))


@pytest.mark.parametrize(
    "times",
    [
        [NOON, NOON + 10 * SECOND, NOON + 8 * HOUR],
        [NOON, NOON + 10 * SECOND, NOON - HOUR],
        [NOON, NOON + 10 * SECOND, NOON + HOUR],
    ],
    ids=["suspended", "back", "forward"],
)
def test_a_jump_begins_a_new_watch_so_that_it_is_no_silence_of_the_endpoints(times: Sequence[datetime]) -> None:
    watch: Ticking | None = None
    for now in times:
        watch = ticked(watch, now)

    assert watch == Ticking(times[-1], since=times[-1])
    (rule,) = (rule for rule in BUILT_IN if rule.id == "no-data")
    assert watch.at - watch.since < rule.no_data_after * rule.every


@pytest.mark.parametrize("skew", [0, 20], ids=["one host", "a second host whose clock is behind"])
def test_a_steady_watch_goes_back_to_its_first_tick(skew: int) -> None:
    watch = ticked(None, NOON)
    for seconds in range(10, 7200, 10):
        watch = ticked(watch, NOON + seconds * SECOND)
        watch = ticked(watch, NOON + (seconds - skew) * SECOND)

    assert watch.since == NOON
    assert Ticking.from_json(watch.to_json()) == watch
