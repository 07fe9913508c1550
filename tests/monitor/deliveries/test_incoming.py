"""A message read from bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.deliveries.incoming import read_message
from monitor.errors import UsageError


@pytest.mark.parametrize("line", [b"\n", b"\r\n"])
def test_headers_and_body_are_told_apart(line: bytes) -> None:
    head = line.join([b"POST /in HTTP/1.1", b"Webhook-Id: msg_1", b"webhook-timestamp:  5 "])

    message = read_message(head + line + line + b'{"type":"a"}\n')

    assert message.headers == {"webhook-id": "msg_1", "webhook-timestamp": "5"}
    assert message.body == b'{"type":"a"}\n'
    assert message.document == {"type": "a"}


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_refused(raw: bytes) -> None:
    try:
        message = read_message(raw)
    except UsageError:
        return
    assert isinstance(message.document, dict)
    assert raw.endswith(message.body)
