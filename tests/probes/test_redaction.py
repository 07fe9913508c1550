"""Keys and prompts are kept out of what is shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from probes.redaction import EXCERPT_CHARS, Redactor

KEY = "canary-key-000000"
PROMPT = "Give one word that links winter markets with a beekeeper called Ada Secor."
REQUEST = {"messages": [{"role": "user", "content": PROMPT}]}


def test_a_key_is_replaced_in_text_and_body() -> None:
    redactor = Redactor.of([KEY])

    assert redactor.text(f"key {KEY}, again {KEY}") == "key [redacted], again [redacted]"
    assert redactor.body(b"\xff" + KEY.encode()) == b"\xff[redacted]"


def test_a_key_is_replaced_with_its_slashes_escaped_as_json_allows() -> None:
    assert Redactor.of(["canary/key/00"]).body(b'{"key": "canary\\/key\\/00"}') == b'{"key": "[redacted]"}'


def test_a_longer_secret_goes_before_one_it_holds() -> None:
    assert Redactor.of([KEY, f"Bearer {KEY}"]).text(f"Bearer {KEY}") == "[redacted]"


def test_placeholders_are_no_secrets() -> None:
    assert Redactor.of(["", "none", "EMPTY"]).text("none is EMPTY") == "none is EMPTY"


def test_an_excerpt_is_one_short_line_without_control_characters() -> None:
    shown = Redactor.of([]).excerpt("a\x1b[31m\r\nb\u202e\u200bc" + "d" * 200, {})

    assert shown.startswith("a [31m b cd")
    assert len(shown) == EXCERPT_CHARS
    assert shown.endswith("…")


def test_a_quoted_prompt_is_left_out_whole_or_in_part() -> None:
    redactor = Redactor.of([])

    assert redactor.excerpt(f"bad input: {PROMPT}", REQUEST) == "bad input: [prompt]"
    assert redactor.excerpt(f"bad input: {PROMPT[10:50]}…", REQUEST) == "bad input: [prompt]…"
    assert redactor.excerpt("the word winter", REQUEST) == "the word winter"


def test_the_name_of_the_model_is_shown() -> None:
    said = "The model 'acme/lark-30b-instruct' does not exist"

    assert Redactor.of([]).excerpt(said, {"model": "acme/lark-30b-instruct", **REQUEST}) == said


@given(st.text(max_size=60), st.text(max_size=60), st.integers(0, len(PROMPT) - 20))
def test_no_sixteen_characters_of_a_prompt_are_shown(before: str, after: str, start: int) -> None:
    shown = Redactor.of([KEY]).excerpt(before + KEY + PROMPT[start:] + after, REQUEST, limit=1000)

    assert KEY not in shown
    assert not any(PROMPT[at : at + 16] in shown for at in range(len(PROMPT) - 15))
