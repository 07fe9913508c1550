"""A template that knows no tools is told of them in Hermes' form; one that knows them is left alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reference_engine import EngineRequestError
from reference_engine.chat import ChatTemplate
from reference_engine.tool_calls import parse_calls

CHATML = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}<|im_start|>system\n"
    "You are helpful<|im_end|>\n{% endif %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}[{{ m.role }}]{{ m.content }}{% endfor %}"
)
IGNORES_SYSTEM = (
    "{% for m in messages %}{% if m.role != 'system' %}[{{ m.role }}]{{ m.content }}{% endif %}{% endfor %}"
)
OWN_CALLS = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% for c in m.tool_calls or [] %}<own>{% endfor %}{% endfor %}"
)
WITH_TOOLS = "{% if tools %}{{ tools | tojson }}{% endif %}" + OWN_CALLS
TOOL = {
    "type": "function",
    "function": {"name": "weather", "description": "Wetter <heute> {}", "parameters": {"type": "object"}},
}
QUESTION = {"role": "user", "content": "Oslo?"}
CALLED: dict[str, Any] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "a", "function": {"name": "weather", "arguments": '{ "city":"Ålesund", "n":1e3}'}},
        {"id": "b", "function": {"name": "clock", "arguments": {"zone": "CET"}}},
    ],
}
RESULTS = [{"role": "tool", "tool_call_id": id_, "content": text} for id_, text in (("a", "clear"), ("b", "noon"))]


def rendered(source: str, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None) -> str:
    return ChatTemplate(source, {}).render(messages, tools, add_generation_prompt=False)


def listed(text: str) -> list[Any]:
    """The tools that a rendered text holds."""
    return [json.loads(line) for line in text.split("<tools>\n")[1].split("\n</tools>")[0].splitlines()]


def test_the_block_ends_the_system_message() -> None:
    text = rendered(CHATML, [{"role": "system", "content": "Be short."}, QUESTION], [TOOL, TOOL])

    assert text.startswith("<|im_start|>system\nBe short.\n\nYou may call functions")
    assert text.endswith("</tool_call><|im_end|>\n<|im_start|>user\nOslo?<|im_end|>\n")
    assert listed(text) == [TOOL, TOOL]


def test_the_templates_own_system_prompt_is_kept() -> None:
    text = rendered(CHATML, [QUESTION], [TOOL])

    assert text.startswith("<|im_start|>system\nYou are helpful\n\nYou may call functions")
    assert text.count("<|im_start|>system") == 1


@pytest.mark.parametrize("source", [NO_SYSTEM, IGNORES_SYSTEM])
def test_the_block_begins_the_question_where_no_system_message_is_shown(source: str) -> None:
    text = rendered(source, [QUESTION, {"role": "assistant", "content": "Cold."}, QUESTION], [TOOL])

    assert text.startswith("[user]You may call functions")
    assert text.endswith("</tool_call>\n\nOslo?[assistant]Cold.[user]Oslo?")
    assert listed(text) == [TOOL]


def test_the_block_shows_the_form_of_a_call() -> None:
    text = rendered(CHATML, [QUESTION], [TOOL])

    example = text[text.rindex("<tool_call>") : text.rindex("</tool_call>") + len("</tool_call>")]
    assert len(parse_calls("hermes", "", example).calls) == 1


@pytest.mark.parametrize("tools", [None, [TOOL]])
def test_calls_and_results_are_told_in_hermes_form(tools: list[dict[str, Any]] | None) -> None:
    text = rendered(NO_SYSTEM, [QUESTION, CALLED, *RESULTS], tools)

    told, results = text.split("[assistant]")[1].split("[user]")
    assert [(call.name, call.arguments) for call in parse_calls("hermes", "", told).calls] == [
        ("weather", '{ "city":"Ålesund", "n":1e3}'),
        ("clock", '{"zone": "CET"}'),
    ]
    assert results == "<tool_response>\nclear\n</tool_response>\n<tool_response>\nnoon\n</tool_response>"


def test_text_before_calls_stays_before_them() -> None:
    text = rendered(CHATML, [QUESTION, CALLED | {"content": [{"type": "text", "text": "Let me see."}]}], [TOOL])

    assert "<|im_start|>assistant\nLet me see.\n<tool_call>\n" in text


@pytest.mark.parametrize(
    ("arguments", "written"),
    [("", "{}"), (None, "{}"), ("not JSON", '"not JSON"'), ("{} {}", '"{} {}"'), ("[1]", '"[1]"'), (" {} ", "{}")],
)
def test_arguments_that_are_no_object_do_not_break_the_conversation(arguments: object, written: str) -> None:
    call = {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": arguments}}]}

    assert f'{{"name": "f", "arguments": {written}}}' in rendered(CHATML, [QUESTION, call])


def test_content_that_is_no_text_is_shown_as_templates_show_it() -> None:
    text = rendered(CHATML, [{"role": "system", "content": 3}, QUESTION, CALLED | {"content": 4}], [TOOL])

    assert "system\n3\n\nYou may call" in text
    assert "assistant\n4\n<tool_call>" in text


def test_a_template_that_knows_tools_is_left_alone() -> None:
    text = rendered(WITH_TOOLS, [QUESTION, CALLED], [TOOL])

    assert text == json.dumps([TOOL], ensure_ascii=False) + "[user]Oslo?[assistant]<own><own>"


def test_a_template_that_knows_calls_but_no_tools_tells_them_its_own_way_until_there_are_tools() -> None:
    assert rendered(OWN_CALLS, [QUESTION, CALLED]) == "[user]Oslo?[assistant]<own><own>"
    assert "<tool_call>" in rendered(OWN_CALLS, [QUESTION, CALLED], [TOOL]).split("[assistant]")[1]


@pytest.mark.parametrize(
    ("source", "tools", "told"),
    [
        (CHATML, None, "none"),
        (CHATML, [], "none"),
        (CHATML, [TOOL], "hermes"),
        (OWN_CALLS, [TOOL], "hermes"),
        (WITH_TOOLS, None, "none"),
        (WITH_TOOLS, [TOOL], "template"),
    ],
)
def test_it_is_said_who_told_the_model_of_the_tools(source: str, tools: list[dict[str, Any]] | None, told: str) -> None:
    assert ChatTemplate(source, {}).tools_rendered(tools) == told
    assert ChatTemplate(None, {}).tools_rendered(tools, chat_template=source) == told


@pytest.mark.parametrize(
    ("call", "tool", "named"),
    [
        ({"function": {"arguments": "{}"}}, TOOL, "names no function"),
        ("f()", TOOL, "names no function"),
        ({"function": {"name": "f", "arguments": "{}"}}, {"a": float("nan")}, "A tool is not JSON"),
        ({"function": {"name": "f", "arguments": "{}"}}, {"a": object()}, "A tool is not JSON"),
    ],
)
def test_a_broken_call_or_tool_is_a_request_error(call: object, tool: dict[str, Any], named: str) -> None:
    with pytest.raises(EngineRequestError, match=named):
        rendered(CHATML, [QUESTION, {"role": "assistant", "tool_calls": [call]}], [tool])
