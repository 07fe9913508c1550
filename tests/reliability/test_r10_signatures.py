"""R10: signatures as the specification has them, checked by the public library."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from monitor import clock
from monitor.deliveries.formats import render
from monitor.deliveries.signature import (
    SIGNATURE,
    TOLERANCE,
    check_secret,
    mismatch,
    new_secret,
    signed_headers,
)
from monitor.errors import UsageError
from tests.endpoints import hostile
from tests.monitor.deliveries.courier import courier
from tests.monitor.deliveries.material import AT, OLD_SECRET, SECRET, alert, channel, notice
from tests.monitor.deliveries.receiver import Receiver

pytestmark = pytest.mark.reliability

SPECIFIED_ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"  # pragma: allowlist secret
BODY = render(notice(alert(1)), "standard").content


def test_the_specifications_example_has_its_signature() -> None:
    """https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md"""
    headers = signed_headers(
        SPECIFIED_ID,
        b'{"test": 2432232314}',
        [OLD_SECRET],
        datetime.fromtimestamp(1614265330, UTC),
    )

    assert headers == {
        "webhook-id": SPECIFIED_ID,
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",  # pragma: allowlist secret
    }


@given(st.binary(min_size=24, max_size=64), st.text(st.characters(exclude_categories=["Cs"])))
def test_the_public_library_verifies_what_we_sign_and_we_what_it_signs(key: bytes, text: str) -> None:
    secret, now = "whsec_" + base64.b64encode(key).decode(), clock.now()
    body = text.encode()

    headers = signed_headers("msg_1", body, [secret], now)

    Webhook(secret).verify(body, headers, json_parse=False)
    theirs = {**headers, SIGNATURE: Webhook(secret).sign("msg_1", now, text)}
    assert mismatch(theirs, body, [secret], now) is None


def test_during_a_rotation_both_secrets_verify() -> None:
    headers = signed_headers("msg_1", BODY, [SECRET, OLD_SECRET], clock.now())

    assert headers[SIGNATURE].count("v1,") == 2
    for secret in (SECRET, OLD_SECRET):
        Webhook(secret).verify(BODY, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(new_secret()).verify(BODY, headers)


ALTERED: dict[str, Callable[[dict[str, str]], tuple[dict[str, str], bytes]]] = {
    "body": lambda headers: (headers, BODY.replace(b"firing", b"Firing")),
    "id": lambda headers: ({**headers, "webhook-id": "msg_2"}, BODY),
    "time": lambda headers: ({**headers, "webhook-timestamp": str(int(headers["webhook-timestamp"]) + 1)}, BODY),
    "signature": lambda headers: ({**headers, SIGNATURE: headers[SIGNATURE].replace("v1,", "v2,")}, BODY),
    "missing": lambda headers: ({"webhook-id": "msg_1", SIGNATURE: headers[SIGNATURE]}, BODY),
}


@pytest.mark.parametrize("what", ALTERED)
def test_what_was_altered_is_refused_by_the_library_and_by_us(what: str) -> None:
    now = clock.now()
    headers, body = ALTERED[what](signed_headers("msg_1", BODY, [SECRET], now))

    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(body, headers)
    assert mismatch(headers, body, [SECRET], now)


@pytest.mark.parametrize("age", [timedelta(minutes=6), timedelta(minutes=-6)])
def test_an_old_or_future_message_is_refused(age: timedelta) -> None:
    now = clock.now()
    headers = signed_headers("msg_1", BODY, [SECRET], now - age)

    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(BODY, headers)
    assert "5 minutes" in (mismatch(headers, BODY, [SECRET], now) or "")
    assert mismatch(headers, BODY, [SECRET], None) is None


def test_a_message_at_the_edge_of_the_tolerance_is_taken() -> None:
    headers = signed_headers("msg_1", BODY, [SECRET], AT)

    assert mismatch(headers, BODY, [SECRET], AT + TOLERANCE) is None


@given(
    st.dictionaries(
        st.sampled_from(["webhook-id", "webhook-timestamp", SIGNATURE]),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=80),
    ),
    st.binary(),
)
def test_nothing_that_comes_in_can_break_the_check(headers: dict[str, str], body: bytes) -> None:
    assert mismatch(headers, body, [SECRET], AT)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_c2hvcnQ=", "C2FVsBQIhrscChlQIMV", "whsec_" + "!" * 40])
def test_a_secret_of_another_form_is_refused_without_being_quoted(secret: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_secret(secret)

    assert not secret or secret not in caught.value.message.replace("whsec_BASE64", "")


def test_a_new_secret_is_of_the_form() -> None:
    check_secret(new_secret())
    assert new_secret() != new_secret()


def test_every_try_is_signed_anew_over_the_bytes_that_are_sent(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The public library's receiver takes both tries of a delivery, by the new secret and the old one."""
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    monkeypatch.setenv("HOOK_SECRET_OLD", OLD_SECRET)
    with Receiver() as receiver:
        entry = channel(
            "ops",
            receiver.url,
            allow_private=True,
            secret="${env:HOOK_SECRET}",
            previous_secret="${env:HOOK_SECRET_OLD}",
        )
        with courier(database_url, entry) as service:
            # The library judges the age by the machine's own clock.
            service.now = clock.now()
            receiver.fault = hostile.always(500, "")
            service.fire(1)
            service.work_for(timedelta(seconds=2))
            receiver.fault = None
            service.work_for(timedelta(seconds=60))

    first, second = receiver.received
    for received in (first, second):
        for secret in (SECRET, OLD_SECRET):
            document = Webhook(secret).verify(received.body, dict(received.headers))
            assert document["type"] == "alert.firing"
    assert first.body == second.body
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.headers["webhook-timestamp"] < second.headers["webhook-timestamp"]
