"""Channels of kind apprise, over the real library."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from monitor.deliveries.apprise_channel import send
from monitor.deliveries.attempt import Tried
from monitor.deliveries.destination import Destination
from monitor.deliveries.formats import render
from tests.endpoints import hostile
from tests.endpoints.server import ScriptedServer
from tests.monitor.deliveries.material import alert, notice

TEXT = render(notice(alert(1)), "text")


def to(url: str) -> Tried:
    return send(Destination("mail", "apprise", SecretStr(url)), TEXT)


def test_a_service_gets_title_and_text() -> None:
    with ScriptedServer(hostile.always(200, "{}")) as server:
        tried = to(f"json://127.0.0.1:{server.port}/in")

    assert (tried.ok, tried.error) == (True, None)
    sent = server.received[0].json
    assert sent["title"] == "[FIRING:1] acme"
    assert sent["message"].startswith("critical: acme/qwen3-32b: logprobs")


@pytest.mark.parametrize("status", [400, 500])
def test_what_a_service_refuses_is_a_failed_try(status: int, caplog: pytest.LogCaptureFixture) -> None:
    with ScriptedServer(hostile.always(status, "no")) as server:
        tried = to(f"json://user:canary-5e@127.0.0.1:{server.port}/canary-path")

    assert (tried.ok, tried.http_status) == (False, None)
    assert tried.error == "The service did not take the message."
    assert "canary" not in caplog.text


def test_a_url_that_apprise_does_not_know_is_a_failed_try(caplog: pytest.LogCaptureFixture) -> None:
    tried = to("nosuchservice://canary-5e")

    assert tried.error == "Apprise does not know this kind of URL."
    assert "canary" not in caplog.text
