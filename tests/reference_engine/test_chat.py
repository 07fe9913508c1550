"""Chat templates against transformers, and what a hostile template or message gets."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from transformers.utils.chat_template_utils import render_jinja_template

from reference_engine import EngineRequestError
from reference_engine.chat import PINNED_DATE, ChatTemplate

CHATML = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}<|im_start|>system\n"
    "You are helpful<|im_end|>\n{% endif %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TOOLS_TEMPLATE = """
{{- bos_token }}
{%- set ns = namespace(turns=0) %}
{%- if tools %}
    {{- '<|system|>Tools:' }}
    {%- for tool in tools %}
        {{- '\\n' + (tool | tojson) }}
    {%- endfor %}
    {{- '\\n' + (tools | tojson(indent=2)) + '\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'ignored' %}{% continue %}{% endif %}
    {%- set ns.turns = ns.turns + 1 %}
    {%- if message.tool_calls %}
        {%- for call in message.tool_calls %}
            {%- if call.function is defined %}{% set call = call.function %}{% endif %}
            {{- '<call>' + call.name + ' ' + (call.arguments | tojson) + '</call>' }}
        {%- endfor %}
    {%- elif message.role == 'tool' %}
        {{- '<result>' + message.content + '</result>' }}
    {%- else %}
        {{- '<|' + message.role + '|>' }}
        {% generation %}{{ message.content | trim }}{% endgeneration %}
    {%- endif %}
{% endfor %}
{%- if add_generation_prompt %}{{ '<|assistant ' ~ ns.turns ~ '|>' }}{% endif %}
"""
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": 'Wetter für einen Ort <heute> & "morgen" 天気',
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]
TALK = [
    {"role": "system", "content": "  Antworte kurz. ÄÖÜ 😀 "},
    {"role": "ignored", "content": "not shown"},
    {"role": "user", "content": "What's it like in Oslo?\n\tAnd <Rome>?"},
    {
        "role": "assistant",
        "tool_calls": [{"type": "function", "function": {"name": "weather", "arguments": {"city": "Ålesund"}}}],
    },
    {"role": "tool", "content": '{"sky": "clear"}'},
]


def template(source: str | None = CHATML, **special: str) -> ChatTemplate:
    return ChatTemplate(source, special)


@pytest.mark.parametrize(
    ("source", "tools"),
    [(CHATML, None), (TOOLS_TEMPLATE, None), (TOOLS_TEMPLATE, TOOLS)],
    ids=["plain", "none", "tools"],
)
@pytest.mark.parametrize("prompting", [True, False])
@pytest.mark.parametrize("messages", [TALK[:1] + TALK[2:3], TALK[2:3], TALK])
def test_a_conversation_is_rendered_as_transformers_does(
    source: str, tools: list[dict[str, object]] | None, prompting: bool, messages: list[dict[str, object]]
) -> None:
    if source is CHATML:
        messages = [message for message in messages if message["role"] not in ("assistant", "tool")]
    schemas: list[Any] | None = tools
    rendered: Any = render_jinja_template(
        [messages], schemas, chat_template=source, add_generation_prompt=prompting, bos_token="<s>"
    )[0]

    text = template(source, bos_token="<s>").render(messages, tools, add_generation_prompt=prompting)

    assert [text] == rendered


def test_content_parts_are_joined_to_text() -> None:
    parts = [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]

    joined = template().render([{"role": "user", "content": parts}])

    assert joined == template().render([{"role": "user", "content": "one two"}])


def test_arguments_of_a_tool_call_may_be_json_text() -> None:
    def call(arguments: object) -> list[dict[str, object]]:
        return [
            {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": arguments}}]}
        ]

    as_text = template(TOOLS_TEMPLATE, bos_token="").render(call('{"city": "Oslo"}'))

    assert as_text == template(TOOLS_TEMPLATE, bos_token="").render(call({"city": "Oslo"}))
    assert '<call>f {"city": "Oslo"}</call>' in as_text


def test_a_template_given_with_the_request_replaces_the_files() -> None:
    assert template().render([{"role": "user", "content": "x"}], chat_template="{{ messages[0].content }}!") == "x!"


def test_the_date_is_the_injected_one() -> None:
    source = "{{ strftime_now('%d %b %Y') }}"
    question = [{"role": "user", "content": "x"}]

    assert template(source).render(question) == PINNED_DATE.strftime("%d %b %Y") == "26 Jul 2024"
    assert ChatTemplate(source, {}, datetime(2031, 1, 2)).render(question) == "02 Jan 2031"  # noqa: DTZ001


@pytest.mark.parametrize(
    ("source", "default"),
    [
        (CHATML, "You are helpful"),
        ("{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}", None),
        (
            "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}{{ messages[0].content }}",
            None,
        ),
        (None, None),
    ],
)
def test_the_default_system_prompt_is_found_by_rendering(source: str | None, default: str | None) -> None:
    assert template(source).default_system_prompt() == default


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.__class__.__name__ }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ raise_exception.__globals__['json'] }}",
        "{{ strftime_now.__self__.year }}",
        "{{ range.__self__._left }}",
        "{{ messages.append('x') }}",
        "{{ messages[0].update({'content': 'y'}) }}",
        "{% set messages[0].content = 'y' %}",
        "{{ '{0.__class__.__init__.__globals__}'.format(cycler) }}",
    ],
)
def test_the_sandbox_refuses_to_reach_into_python(source: str) -> None:
    with pytest.raises(EngineRequestError):
        template(source).render([{"role": "user", "content": "x"}])


@pytest.mark.parametrize(
    "source",
    [
        "{% for i in range(10**9) %}{% endfor %}",
        "{% for i in range(99999999) %}{% endfor %}",
        "{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}",
        "{{ 'a' * 100000000 }}",
        "{{ [0] * 100000000 }}",
        "{{ 9 ** 9 ** 9 }}",
        "{% for i in range(9999) %}{{ 'aaaaaaaaaa' * 1000 }}{% endfor %}",
        "{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}",
    ],
)
def test_a_template_that_never_ends_is_stopped(source: str) -> None:
    with pytest.raises(EngineRequestError):
        template(source).render([{"role": "user", "content": "x"}])


@pytest.mark.parametrize(
    ("source", "messages", "named"),
    [
        ("{% if %}", [{"role": "user", "content": "x"}], "does not compile"),
        ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", [{"role": "user", "content": "x"}], "does not compile"),
        ("{{ raise_exception('roles must alternate') }}", [{"role": "user", "content": "x"}], "roles must alternate"),
        ("{{ messages[0].content + 1 }}", [{"role": "user", "content": "x"}], "failed"),
        ("{{ messages[0]['content'] + 'x' }}", [{"role": "user", "content": None}], "content"),
        ("{{ 1 / 0 }}", [{"role": "user", "content": "x"}], "division"),
        (CHATML, [], "no messages"),
        (CHATML, [{"content": "x"}], "no 'role'"),
        (CHATML, [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}], "'image_url'"),
        (CHATML, [{"role": "user", "content": [3]}], "'int'"),
        (CHATML, [{"role": "assistant", "tool_calls": 3}], "no list"),
        (TOOLS_TEMPLATE, [{"role": "assistant", "tool_calls": {"function": {}}}], "no list"),
        (None, [{"role": "user", "content": "x"}], "no chat template"),
    ],
)
def test_a_bad_template_or_message_is_a_request_error(
    source: str | None, messages: list[dict[str, object]], named: str
) -> None:
    with pytest.raises(EngineRequestError) as caught:
        template(source).render(messages)

    assert named in str(caught.value)
    assert caught.value.remedy
