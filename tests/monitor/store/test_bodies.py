from __future__ import annotations

from dataclasses import replace

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from monitor.errors import StorageError
from monitor.store.bodies import MAX_BODY_BYTES, Answer, pack, unpack
from probes.plan import Attempt
from tests.monitor.store.material import AT, sample


@given(st.binary(max_size=200))
def test_every_body_comes_back(body: bytes) -> None:
    assert unpack(pack(sample("a", body=body))).answers[0].body == body


def test_an_exchange_comes_back_with_every_try() -> None:
    first = Attempt(None, {}, b"", AT, 10.0, error="timeout", message="no answer")
    second = Attempt(200, {"content-type": "text/event-stream"}, b"data: [DONE]", AT, 0.5)

    found = unpack(pack(replace(sample("a", 3), attempts=(first, second))))

    assert (found.item_key, found.rep) == ("a", 3)
    assert found.request == sample("a").request
    assert found.answers == (
        Answer(None, {}, b"", 0, AT, 10.0, "timeout", "no answer"),
        Answer(200, {"content-type": "text/event-stream"}, b"data: [DONE]", 12, AT, 0.5, None, None),
    )


def test_of_headers_that_are_not_about_the_answer_the_names_alone_are_kept() -> None:
    headers = {
        "Content-Type": "application/json",
        "X-RateLimit-Remaining-Tokens": "100",
        "Set-Cookie": "session=1",
        "Authorization": "Bearer x",
        "OpenAI-Organization": "user-7",
    }

    blob = pack(replace(sample("a"), attempts=(Attempt(200, headers, b"", AT, 0.1),)))
    (answer,) = unpack(blob).answers

    assert answer.headers == {"Content-Type": "application/json", "X-RateLimit-Remaining-Tokens": "100"}
    assert answer.other_headers == ("Set-Cookie", "Authorization", "OpenAI-Organization")
    assert b"session=1" not in zstandard.ZstdDecompressor().decompress(blob)


def test_a_key_that_an_endpoint_repeats_is_not_stored(secret: str) -> None:
    attempt = Attempt(
        401,
        {"x-request-id": f"req-{secret}"},
        f'{{"error":"bad key {secret}"}}'.encode(),
        AT,
        0.1,
        error="provider_auth",
        message=f"bad key {secret}",
    )
    blob = pack(replace(sample("a"), attempts=(attempt,), request={"user": secret, "messages": [{"content": secret}]}))

    found = unpack(blob)

    assert secret.encode() not in zstandard.ZstdDecompressor().decompress(blob)
    assert found.request == {"user": "[redacted]", "messages": [{"content": "[redacted]"}]}
    assert found.answers[0].body == b'{"error":"bad key [redacted]"}'
    assert found.answers[0].message == "bad key [redacted]"
    assert found.answers[0].headers == {"x-request-id": "req-[redacted]"}


def test_a_very_long_body_is_cut_and_its_length_told() -> None:
    found = unpack(pack(sample("a", body=b"a-" * MAX_BODY_BYTES)))

    assert found.answers[0].body == b"a-" * (MAX_BODY_BYTES // 2)
    assert found.answers[0].size == 2 * MAX_BODY_BYTES


def test_a_key_where_a_long_body_is_cut_leaves_no_part_of_it(secret: str) -> None:
    found = unpack(pack(sample("a", body=b"a" * (MAX_BODY_BYTES - 6) + secret.encode())))

    assert found.answers[0].body.endswith(b"a[redac")


@pytest.mark.parametrize("blob", [b"", b"nothing", zstandard.compress(b"[]"), zstandard.compress(b"{}")])
def test_a_damaged_exchange_is_refused(blob: bytes) -> None:
    with pytest.raises(StorageError, match="stored exchange is damaged"):
        unpack(blob)
