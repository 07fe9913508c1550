"""Which family a model's calls are read as, and which hidden tokens its parser has to see."""

from __future__ import annotations

import pytest

from reference_engine.template import template_facts
from reference_engine.tool_calls import Family, family_of, marker_ids

PLAIN = "{% for m in messages %}{{ m.content }}{% endfor %}"
GENERIC = "{% if tools %}{{ tools | tojson }}{% endif %}" + PLAIN
QWEN = GENERIC + "{% for m in messages %}{{- '\\n<tool_call>\\n' }}{{ m.tool_calls }}{% endfor %}"
LLAMA_31 = (
    "{%- if custom_tools is defined %}{%- set tools = custom_tools %}{%- endif %}"
    "{%- if not tools is defined %}{%- set tools = none %}{%- endif %}"
    "{%- if builtin_tools is defined %}{{- '<|python_tag|>' }}{%- endif %}"
    "{%- if tools is not none %}{{ tools | tojson }}{%- endif %}"
)
LLAMA_32 = GENERIC + 'Respond in the format {"name": function name, "parameters": its arguments}.'
MISTRAL = GENERIC + "{{ '[TOOL_CALLS] [' }}"


@pytest.mark.parametrize(
    ("template", "vocabulary", "family"),
    [
        (QWEN, [], "hermes"),
        (LLAMA_31, [], "llama3"),
        (LLAMA_32, [], "llama3"),
        (MISTRAL, [], "mistral"),
        (GENERIC, ["[TOOL_CALLS]", "[ARGS]"], "mistral"),
        (GENERIC, ["<|python_tag|>"], "llama3"),
        (GENERIC, ["<tool_call>", "<|python_tag|>"], "hermes"),
        (GENERIC, [], "hermes"),
        (QWEN, ["<|python_tag|>", "[TOOL_CALLS]"], "hermes"),
        (GENERIC + "{# not [TOOL_CALLS] #}", [], "hermes"),
        (PLAIN + "[TOOL_CALLS]", ["[TOOL_CALLS]"], "hermes"),
        (None, ["[TOOL_CALLS]"], "hermes"),
    ],
)
def test_the_family_is_told_by_the_template_then_by_the_vocabulary(
    template: str | None, vocabulary: list[str], family: Family
) -> None:
    assert family_of(template, vocabulary) == family


@pytest.mark.parametrize(
    ("source", "reads"),
    [
        ("{% if tools %}x{% endif %}", True),
        ("{{ tools | length }}", True),
        ("{%- if custom_tools is defined %}{%- set tools = custom_tools %}{%- endif %}{{ tools }}", True),
        ("{% macro show() %}{{ tools }}{% endmacro %}{{ show() }}", True),
        ("{% for tool in tools %}{{ tool }}{% endfor %}", True),
        ("{# tools #}tools {{ 'tools' }} {{ messages[0].tools }} {{ builtin_tools }}", False),
        ("{% set tools = [] %}{{ tools }}", False),
        ("{% for tools in messages %}{{ tools }}{% endfor %}", False),
        ("{% macro show(tools) %}{{ tools }}{% endmacro %}{{ show(1) }}", False),
    ],
)
def test_a_template_reads_tools_if_its_value_can_reach_the_text(source: str, reads: bool) -> None:
    assert template_facts(source).reads_tools is reads


@pytest.mark.parametrize("source", ["{{ m.tool_calls }}", "{{ m['tool_calls'] }}", "{{ 'tool_calls' in m }}"])
def test_a_template_that_reads_calls_is_known(source: str) -> None:
    assert template_facts(source).reads_calls
    assert not template_facts("{# m.tool_calls #}tool_calls").reads_calls


def test_only_the_familys_own_markers_are_shown_to_its_parser() -> None:
    special = {1: "<s>", 5: "[TOOL_CALLS]", 6: "[ARGS]", 9: "<tool_call>"}

    assert marker_ids("mistral", special) == {5, 6}
    assert marker_ids("hermes", special) == {9}
    assert marker_ids("llama3", special) == frozenset()
