"""One try of a message."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from monitor.deliveries.destination import Destination, format_of, resolve_destination
from monitor.deliveries.formats import JSON, Body
from monitor.deliveries.sender import send
from monitor.deliveries.trial import send_test
from monitor.errors import ConfigError, SecretError, UsageError
from tests.endpoints import hostile
from tests.endpoints.server import ScriptedServer
from tests.monitor.deliveries.material import AT, OLD_SECRET, SECRET, channel

BODY = Body(b'{"a":1}', JSON)


def to(url: str, *secrets: str) -> Destination:
    return Destination("ops", "webhook", SecretStr(url), tuple(map(SecretStr, secrets)), allow_private=True)


def test_a_message_is_sent_with_its_headers_and_its_bytes() -> None:
    with ScriptedServer(hostile.always(200, "thanks", headers={"Retry-After": "7"})) as server:
        tried = send(to(server.base_url, SECRET), "msg_1", BODY, AT)

    (received,) = server.received
    assert received.body == b'{"a":1}'
    assert received.headers["webhook-id"] == "msg_1"
    assert received.headers["webhook-timestamp"] == str(int(AT.timestamp()))
    assert received.headers["webhook-signature"].startswith("v1,")
    assert received.headers["content-type"] == JSON
    assert received.headers["user-agent"] == "endpoint-monitor"
    assert (tried.http_status, tried.response, tried.retry_after, tried.error) == (200, "thanks", "7", None)
    assert tried.ok
    assert tried.milliseconds > 0


def test_without_a_secret_there_is_no_signature() -> None:
    with ScriptedServer(hostile.always(204, "")) as server:
        send(to(server.base_url), "msg_1", BODY, AT)

    assert "webhook-signature" not in server.received[0].headers
    assert server.received[0].headers["webhook-id"] == "msg_1"


def test_what_goes_wrong_is_said_without_the_path_which_may_be_a_secret() -> None:
    url = hostile.closed_port_url().replace("/v1", "/services/T000/canary-7d")

    tried = send(to(url), "msg_1", BODY, AT)

    assert (tried.ok, tried.http_status) == (False, None)
    assert "refused the connection" in (tried.error or "")
    assert "canary" not in repr(tried)


def test_what_the_receiver_answers_is_kept_without_the_parts_of_its_address() -> None:
    path, query = "/services/T0/7d1c-canary-path/in", "token=canary-token&n=1"
    said = f"Nothing at {path}?{query}: no hook 7D1C-CANARY-PATH for canary-token, 7d1c%2Dcanary%2Dpath."

    with ScriptedServer(hostile.always(404, said)) as server:
        tried = send(to(f"{server.base_url}{path.replace('-', '%2D')}?{query}"), "msg_1", BODY, AT)

    assert tried.http_status == 404
    assert (tried.response or "").startswith("Nothing at ")
    assert "canary" not in (tried.response or "").lower()


def test_a_destination_has_its_references_resolved_and_shows_none_of_them() -> None:
    environ = {"HOOK": "https://hooks.example/canary-path", "NEW": SECRET, "OLD": OLD_SECRET}
    entry = channel(url="${env:HOOK}", secret="${env:NEW}", previous_secret="${env:OLD}")

    found = resolve_destination(entry, environ)

    assert found.url.get_secret_value() == "https://hooks.example/canary-path"
    assert [secret.get_secret_value() for secret in found.secrets] == [SECRET, OLD_SECRET]
    assert "canary" not in repr(found)
    assert SECRET not in repr(found)


def test_a_reference_that_leads_nowhere_is_named() -> None:
    with pytest.raises(SecretError, match=r"\$\{env:HOOK\} is not set"):
        resolve_destination(channel(url="${env:HOOK}"), {})


def test_a_secret_of_another_form_is_refused() -> None:
    with pytest.raises(UsageError, match="whsec_BASE64"):
        resolve_destination(channel(secret="${env:NEW}"), {"NEW": "hunter2-hunter2"})


def test_an_apprise_url_has_to_be_a_reference() -> None:
    with pytest.raises(ConfigError, match="written out"):
        resolve_destination(channel(kind="apprise", url="https://hooks.example/in"))


def test_apprise_gets_plain_text_and_webhooks_their_format() -> None:
    assert format_of(channel(kind="apprise", url="${env:MAIL}")) == "text"
    assert format_of(channel(format="slack")) == "slack"


def test_a_test_message_says_that_it_is_one() -> None:
    with ScriptedServer(hostile.always(204, "")) as server:
        tried = send_test(channel(url=server.base_url, allow_private=True), AT)

    assert tried.ok
    assert server.received[0].json["type"] == "webhook.test"
    assert server.received[0].headers["webhook-id"].startswith("msg_")
