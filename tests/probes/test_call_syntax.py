from __future__ import annotations

import pytest

from probes.wire.call_syntax import TextCall, call_in, holds_call_syntax


@pytest.mark.parametrize(
    "text",
    [
        "A harbour is a place for ships.",
        "Call book_berth (later) with a name.",
        '{"name": "other_tool", "arguments": {}}',
        '{"harbour": "Fowey", "nights": 2}',
        "I will book it.<tool_call>",
        "<tool_call>  ",
        "Write it as one JSON object between <tool_call> and </tool_call.",
        "Put it between <tool_call></tool_call> tags.",
        "print(1)",
        "The action: book_berth",
    ],
)
def test_prose_and_data_are_no_calls(text: str) -> None:
    assert not holds_call_syntax(text, ["book_berth"])


def test_json_is_a_call_only_where_it_names_a_declared_tool() -> None:
    text = '{"name": "book_berth", "arguments": {}}'
    assert holds_call_syntax(text, ["read_tide", "book_berth"])
    assert not holds_call_syntax(text, [])


def test_marked_calls_are_calls_of_any_tool() -> None:
    assert holds_call_syntax('<tool_call>{"name": "x"}', [])
    assert holds_call_syntax("<tool_call>get_time\n</tool_call>", [])


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ('{"name": "f", "arguments": {"a": 1}}', TextCall("f", {"a": 1})),
        ('[{"name": "functions.f", "parameters": {"a": 1}}]', TextCall("f", {"a": 1})),
        ('<function=f>{"a": 1}</function>', TextCall("f", {"a": 1})),
        (
            '<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>',
            TextCall("f", {"a": 1}),
        ),
        ('<function=f>{"a": ', TextCall("f", None)),
        ('{"type": "function", "function": {"name": "f", "arguments": {}}}', TextCall("f", {})),
        ('{"a": 1}', None),
        ("I will call it.", None),
        ("", None),
    ],
)
def test_the_call_in_a_refused_generation_is_read(text: str, call: TextCall | None) -> None:
    assert call_in(text) == call
