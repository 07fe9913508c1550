"""An answer's tokens, counted again."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from probes.completion import Completion, TokenAlternative, TokenLogprob, ToolCall, Usage
from probes.quirks import Disposition
from probes.token_counts.recount import Recount, recount
from tests.probes.token_counts.templated import TEMPLATE, WITHOUT_TOOLS, Templated

REQUEST: dict[str, Any] = {"messages": [{"role": "user", "content": "How many?"}], "temperature": 0}
TOOLS = [{"type": "function", "function": {"name": "stock", "parameters": {}}}]


def answer(tokens: int | None = None, **more: Any) -> Completion:
    usage = Usage(completion_tokens=tokens, reasoning_tokens=more.pop("reasoning_tokens", None))
    return Completion(Disposition.ACCEPT, (), 200, usage=usage, **more)


def counted(completion: Completion, template: Templated | None = None, **request: Any) -> Recount:
    return recount(completion, {**REQUEST, **request}, template or Templated())


@settings(max_examples=30)
@given(st.text(max_size=30), st.integers(0, 1))
def test_a_text_is_its_tokens_and_perhaps_the_end(text: str, end: int) -> None:
    size = len(text.encode())
    found = counted(answer(size + end, content=text, finish_reason="stop"))

    assert (found.low, found.high, found.unknown) == (size, size + 1, ())
    assert found.excess == 0


def test_tokens_beyond_all_that_came_are_excess() -> None:
    assert counted(answer(25, content="Ten bytes.")).excess == 14
    assert counted(answer(None, content="Ten bytes.")).excess == 0


def test_a_refusal_is_counted_as_the_text_it_is() -> None:
    assert counted(answer(11, refusal="Ten bytes.")).excess == 0


def test_a_stop_string_was_written_though_it_is_not_shown() -> None:
    found = counted(answer(14, content="Ten bytes.", finish_reason="stop"), stop=["END", "x"])

    assert (found.low, found.high) == (10, 14)
    assert counted(answer(14, content="Ten bytes.", finish_reason="length"), stop="END").high == 11


def test_a_text_that_was_drawn_may_have_a_few_tokens_more() -> None:
    assert counted(answer(105, content="a" * 100), temperature=1).excess == 0
    assert counted(answer(120, content="a" * 100), temperature=1).excess == 14


def test_a_text_that_was_held_to_a_form_is_bounded_from_below_alone() -> None:
    reason = ("how a grammar split the text",)

    assert counted(answer(50, content="{}"), response_format={"type": "json_object"}).unknown == reason
    assert counted(answer(50, content="{}"), tools=TOOLS, tool_choice="required").unknown == reason
    assert counted(answer(50, content="{}"), response_format={"type": "text"}, tool_choice="auto").excess == 47


def test_log_probabilities_count_tokens_whatever_the_tokenizer_says() -> None:
    position = TokenLogprob(TokenAlternative("Ten", b"Ten", -1.0), None)
    found = counted(answer(3, content="Ten bytes.", logprobs=(position,) * 3, finish_reason="length"))

    assert (found.low, found.high) == (3, 4)


def test_what_cannot_be_counted_says_why_and_bounds_from_below_alone() -> None:
    hidden = counted(answer(500, content="Ten.", reasoning_tokens=400))
    shown = counted(answer(500, content="Ten.", reasoning="Let me see."))
    several = counted(answer(500, content="Ten."), n=2)

    assert (hidden.low, hidden.high, hidden.unknown) == (4, None, ("reasoning that is not shown",))
    assert (shown.low, shown.high, shown.unknown) == (15, None, ("the marks around the reasoning",))
    assert (several.low, several.high, several.unknown) == (4, None, ("choices other than the first",))
    assert {one.excess for one in (hidden, shown, several)} == {0}


def test_calls_are_counted_as_the_template_writes_them() -> None:
    call = ToolCall("stock", "call_1", {"item": "radishes"})
    written = len("<call>" + json.dumps({"name": "stock", "arguments": {"item": "radishes"}}))
    template = Templated(TEMPLATE.replace("<e>", "$"))
    found = counted(answer(written, tool_calls=(call,), finish_reason="tool_calls"), template, tools=TOOLS)

    assert found.unknown == ()
    assert found.high is not None
    assert found.low <= written < found.high <= written + len("$")


def test_calls_that_the_template_does_not_write_are_unknown() -> None:
    call = ToolCall("stock", "call_1", {"item": "radishes"})
    broken = ToolCall("stock", "call_1", None, '{"item"')
    reason = ("calls, which the reference's template does not write",)

    assert counted(answer(9, tool_calls=(call,)), Templated(WITHOUT_TOOLS), tools=TOOLS).unknown == reason
    assert counted(answer(9, tool_calls=(broken,)), tools=TOOLS).unknown == reason
