from __future__ import annotations

import pytest
from redis import Redis

from monitor.settings import Settings
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
