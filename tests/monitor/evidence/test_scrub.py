"""A secret is found however it is spelled."""

from __future__ import annotations

import json
from urllib.parse import quote

from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.evidence.scrub import Scrubber

SECRETS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=6, max_size=12)


@given(SECRETS, st.data())
@settings(max_examples=50)
def test_a_secret_goes_in_any_spelling(secret: str, data: st.DataObject) -> None:
    def spelled(character: str) -> str:
        escaped = f"\\u{ord(character):04x}"
        options = [json.dumps(character)[1:-1], escaped, escaped.upper().replace("U", "u"), quote(character, safe="")]
        return data.draw(st.sampled_from(options))

    text = "".join(map(spelled, secret))

    assert Scrubber([secret])(f"<{text}>".encode()) == b"<[redacted]>"


def test_a_secret_that_ends_in_half_an_escape_leaves_none_of_it() -> None:
    assert json.loads(Scrubber(["key-12\\"])(json.dumps(["key-12\\"]).encode())) == ["[redacted]"]


def test_of_two_secrets_that_begin_alike_no_tail_is_left() -> None:
    assert Scrubber(["key-123", "key-123-456"])(b"key-123-456 key-123") == b"[redacted] [redacted]"


def test_what_is_too_short_for_a_secret_stays() -> None:
    content = b"none, EMPTY \xff\x00 and \\u0041"

    assert Scrubber(["none", "EMPTY"])(content) == content
    assert Scrubber([])(content) == content
