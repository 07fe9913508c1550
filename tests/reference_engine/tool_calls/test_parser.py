"""What is a call in each family's form and what is not, whole and in pieces."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_engine.tool_calls import CallParser, Family, Parsed, parse_calls
from reference_engine.tool_calls.family import MARKERS

TAG = "<|python_tag|>"
HERMES = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
LLAMA = '{"name": "f", "parameters": {"a": 1}}'
LISTED = '[TOOL_CALLS][{"name": "f", "arguments": {"a": 1}}]'
NAMED = '[TOOL_CALLS]f[ARGS]{"a": 1}'


def letter_by_letter(family: Family, text: str) -> Parsed:
    parser = CallParser(family, "answer")
    return sum((*map(parser.feed, text), parser.finish()), Parsed())


def calls(parsed: Parsed) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in parsed.calls]


ONE = [("f", '{"a": 1}')]


@pytest.mark.parametrize(
    ("family", "text", "content", "expected"),
    [
        ("hermes", HERMES, "", ONE),
        ("hermes", f"\n\n{HERMES}\n", "", ONE),
        ("hermes", f"Let me see.\n{HERMES}", "Let me see.\n", ONE),
        ("hermes", f"{HERMES}\n{HERMES}", "", ONE * 2),
        ("hermes", f"{HERMES} and {HERMES}\n done", " and \n done", ONE * 2),
        ("hermes", '<tool_call>{"arguments":{},"name":"g"}</tool_call>', "", [("g", "{}")]),
        ("llama3", LLAMA, "", ONE),
        ("llama3", f" {LLAMA}\n", "", ONE),
        ("llama3", f"{LLAMA}; {LLAMA} ;{LLAMA}", "", ONE * 3),
        ("llama3", f"{TAG}{LLAMA}", "", ONE),
        ("llama3", f"Let me see.{TAG} {LLAMA};{LLAMA} That is it.", "Let me see. That is it.", ONE * 2),
        ("llama3", '{"type": "function", "name": "f", "parameters": {"a": 1}}', "", ONE),
        ("mistral", LISTED, "", ONE),
        ("mistral", f"Let me see.{LISTED}", "Let me see.", ONE),
        ("mistral", '[TOOL_CALLS] [{"name": "f", "arguments": {}}, {"name": "g", "arguments": {"b": []}}]', "",
         [("f", "{}"), ("g", '{"b": []}')]),
        ("mistral", NAMED, "", ONE),
        ("mistral", f"{NAMED}{NAMED}", "", ONE * 2),
        ("mistral", '[TOOL_CALLS] f[CALL_ID]abcDEF123[ARGS] {"a": 1}', "", ONE),
    ],
)  # fmt: skip
def test_a_call_is_found_in_its_familys_form(
    family: Family, text: str, content: str, expected: list[tuple[str, str]]
) -> None:
    parsed = parse_calls(family, "answer", text)

    assert (parsed.content, calls(parsed), parsed.malformed) == (content, expected, ())
    assert letter_by_letter(family, text) == parsed


ARGUMENTS = [
    '{"s": "</tool_call> <tool_call>", "t": "[TOOL_CALLS]f[ARGS]{}", "u": "<|python_tag|>; {"}',
    '{ "n" : 9007199254740993, "x":2.0,"e":1e3, "z": -0, "big": %s }' % ("7" * 5000),
    '{"q": "\\"}]\\\\", "e": "\\u00e9é😀\\ud83d\\ude00", "n": null, "l": [[], {}, [true, false]]}',
    "{\n\t}",
    '{"a": ' + "[" * 125 + "]" * 125 + "}",
    '{"a": 1, "a": 2}',
]


@pytest.mark.parametrize("arguments", ARGUMENTS)
@pytest.mark.parametrize(
    ("family", "form"),
    [
        ("hermes", '<tool_call>{"name":"f","arguments":%s}</tool_call>'),
        ("llama3", '{"name":"f","parameters": %s }'),
        ("mistral", '[TOOL_CALLS][{"name":"f","arguments":%s}]'),
        ("mistral", "[TOOL_CALLS]f[ARGS]%s"),
    ],
)
def test_arguments_stay_as_the_model_wrote_them(family: Family, form: str, arguments: str) -> None:
    parsed = parse_calls(family, "answer", form % arguments)

    assert calls(parsed) == [("f", arguments)]
    assert parsed.content == ""
    assert letter_by_letter(family, form % arguments) == parsed


@pytest.mark.parametrize(
    ("family", "text", "reason"),
    [
        ("hermes", '<tool_call>{"name": "f", "arguments": {}}', "the answer ends inside the call"),
        ("hermes", '<tool_call>{"name": "f", "argum', "the answer ends inside the call"),
        ("hermes", "<tool_call>", "the answer ends inside the call"),
        ("hermes", '<tool_call>{"name": "f", "arguments": {}}}</tool_call>', "no </tool_call> follows its JSON"),
        ("hermes", "<tool_call>f(x)</tool_call>", "no { stands where the JSON should begin"),
        ("hermes", '<tool_call>[{"name": "f"}]</tool_call>', "no { stands where the JSON should begin"),
        ("hermes", "<tool_call>{'name': 'f'}</tool_call>", "it is not JSON"),
        ("hermes", '<tool_call>{"name": "f", "arguments": {"a": NaN}}</tool_call>', "it is not JSON"),
        ("hermes", '<tool_call>{"name": "f", "arguments": {"a": 01}}</tool_call>', "it is not JSON"),
        ("hermes", '<tool_call>{"name": "f", "arguments": {},}</tool_call>', "it is not JSON"),
        ("hermes", '<tool_call>{"name": "f", "arguments": {"a": [1}]}</tool_call>', "it is not JSON"),
        ("hermes", '<tool_call>{"name" "f"}</tool_call>', "it is not JSON"),
        ("hermes", '<tool_call>{"name": "f" "arguments": {}}</tool_call>', "it is not JSON"),
        ("hermes", '<tool_call>{"name": "a\nb", "arguments": {}}</tool_call>', "a string holds a control character"),
        ("hermes", '<tool_call>{"name": "f", "arguments": "{}"}</tool_call>', "its arguments are no object"),
        ("hermes", '<tool_call>{"name": "f"}</tool_call>', "it has no member 'arguments'"),
        ("hermes", '<tool_call>{"name": "f", "parameters": {}}</tool_call>', "it has a member 'parameters'"),
        ("hermes", '<tool_call>{"name": 1, "arguments": {}}</tool_call>', "its name is no text"),
        ("hermes", '<tool_call>{"name": " ", "arguments": {}}</tool_call>', "its name is no text"),
        ("hermes", '<tool_call>{"name": "\\ud800", "arguments": {}}</tool_call>', "its name is no text"),
        ("hermes", '<tool_call>{"name": "f", "name": "g", "arguments": {}}</tool_call>',
         "the member 'name' stands there twice"),
        ("hermes", f'<tool_call>{{"name": "f", "arguments": {{"a": {"[" * 127}{"]" * 127}}}}}</tool_call>',
         "the JSON is nested deeper than 128"),
        ("llama3", f'{TAG}brave_search.call(query="x")', "no { stands where the JSON should begin"),
        ("llama3", f'{TAG}{{"name": "f", "arguments": {{}}}}', "it has a member 'arguments'"),
        ("llama3", f"{LLAMA} is the call.", "more than calls stands in the answer"),
        ("llama3", f"{LLAMA};", "nothing follows its ;"),
        ("llama3", '{"name": "f", "parameters": {"a": ', "the answer ends inside the call"),
        ("llama3", '{"name": "f", "parameters": 3}', "its arguments are no object"),
        ("mistral", "[TOOL_CALLS]", "the answer ends inside the call"),
        ("mistral", "[TOOL_CALLS][]", "its array holds other things than calls, or nothing"),
        ("mistral", "[TOOL_CALLS][1]", "its array holds other things than calls, or nothing"),
        ("mistral", '[TOOL_CALLS][{"name": "f", "arguments": {}}, {"name": "g"}]', "it has no member 'arguments'"),
        ("mistral", '[TOOL_CALLS]{"name": "f", "arguments": {}}', "no name and [ARGS] follow"),
        ("mistral", '[TOOL_CALLS]f{"a": 1}', "no name and [ARGS] follow"),
        ("mistral", "[TOOL_CALLS]" + "f" * 400, "no name and [ARGS] follow"),
        ("mistral", '[TOOL_CALLS][ARGS]{"a": 1}', "it is not JSON"),
        ("mistral", "[TOOL_CALLS]f[ARGS]", "the answer ends inside the call"),
        ("mistral", "[TOOL_CALLS]f[ARGS]{1: 2}", "it is not JSON"),
    ],
)  # fmt: skip
def test_what_only_looks_like_a_call_stays_content_and_is_named(family: Family, text: str, reason: str) -> None:
    parsed = parse_calls(family, "answer", text)

    assert (parsed.content, parsed.calls) == (text, ())
    assert [one.reason for one in parsed.malformed] == [reason]
    assert text.startswith(parsed.malformed[0].text)
    assert letter_by_letter(family, text) == parsed


@pytest.mark.parametrize(
    ("family", "text"),
    [
        ("hermes", '{"name": "f", "arguments": {}}'),
        ("hermes", "a stray </tool_call> and <tool_"),
        ("llama3", '{"city": "Oslo"}'),
        ("llama3", '{"name": "Oslo", "population": 700000}'),
        ("llama3", f"This is how: {LLAMA}"),
        ("llama3", "{not JSON"),
        ("mistral", '[{"name": "f", "arguments": {}}]'),
        ("mistral", "[TOOL_CALL] f [ARGS]{}"),
        ("hermes", ""),
        ("llama3", " \n"),
    ],
)
def test_text_that_is_no_call_is_content_and_nothing_is_said_of_it(family: Family, text: str) -> None:
    assert parse_calls(family, "answer", text) == Parsed(text)


def test_a_call_after_a_malformed_one_is_found() -> None:
    broken = '<tool_call>{"name": "g", "arguments": {"a": "no end}</tool_call>\n'

    parsed = parse_calls("hermes", "answer", broken + HERMES)

    assert (parsed.content, calls(parsed)) == (broken, ONE)
    assert [one.reason for one in parsed.malformed] == ["a string holds a control character"]


def test_a_later_object_cut_short_leaves_the_first_call() -> None:
    parsed = parse_calls("llama3", "answer", f'{LLAMA}; {{"name": "g", "parameters": {{')

    assert calls(parsed) == ONE
    assert parsed.content == '; {"name": "g", "parameters": {'
    assert [one.text for one in parsed.malformed] == [parsed.content]


def test_ids_are_of_the_familys_form_and_differ() -> None:
    def ids(family: Family, text: str, answer: str = "answer") -> list[str]:
        return [call.id for call in parse_calls(family, answer, text).calls]

    hermes = ids("hermes", HERMES * 2)
    assert all(len(one) == 29 and one.startswith("call_") and one.isascii() for one in hermes)
    assert len({*hermes, *ids("hermes", HERMES, "another")}) == 3
    assert hermes == ids("hermes", HERMES * 2)
    assert all(len(one) == 9 and one.isalnum() for one in ids("mistral", NAMED * 2 + LISTED))


def test_an_id_that_mistral_wrote_is_kept_if_it_has_the_form_and_is_new() -> None:
    def named(written: str) -> str:
        return f"[TOOL_CALLS]f[CALL_ID]{written}[ARGS]{{}}"

    text = named("abcDEF123") + named("abcDEF123") + named("call_1")
    listed = '[TOOL_CALLS][{"name": "f", "arguments": {}, "id": "123456789"}]'

    kept, repeated, misshapen = (call.id for call in parse_calls("mistral", "answer", text).calls)

    assert kept == "abcDEF123"  # pragma: allowlist secret
    assert len({kept, repeated, misshapen}) == 3
    assert len(repeated) == len(misshapen) == 9
    assert [call.id for call in parse_calls("mistral", "answer", listed).calls] == ["123456789"]


SNIPPETS: dict[Family, list[str]] = {
    "hermes": [HERMES, '<tool_call>{"name": "f", "arguments": "x"}</tool_call>', '<tool_call>{"a": "'],
    "llama3": [LLAMA, f"{TAG}{LLAMA}", ";", '{"name": "f", "parameters": ', TAG, "{}"],
    "mistral": [LISTED, NAMED, "[TOOL_CALLS]f", "[CALL_ID]x", "[ARGS]", '{"a": "[TOOL_CALLS]"}', "["],
}


@st.composite
def answers(draw: st.DrawFn) -> tuple[Family, str]:
    """Text made of calls, of their parts, and of other text."""
    family: Family = draw(st.sampled_from(["hermes", "llama3", "mistral"]))
    cut = st.sampled_from(SNIPPETS[family]).flatmap(
        lambda snippet: st.integers(0, len(snippet)).map(lambda end: snippet[:end])
    )
    part = st.sampled_from([*SNIPPETS[family], *MARKERS[family], " ", "\n", "\x0b", "text ", '"', "}", "é"]) | cut
    return family, "".join(draw(st.lists(part, max_size=8)))


@settings(max_examples=100, deadline=None)
@given(answers(), st.randoms(use_true_random=False))
def test_pieces_add_up_to_the_whole_and_show_no_part_of_a_marker(
    answer: tuple[Family, str], random: random.Random
) -> None:
    family, text = answer
    whole = parse_calls(family, "answer", text)
    parser, steps, at = CallParser(family, "answer"), [], 0
    while at < len(text):
        step = random.choice([1, 1, 2, 3, 7, 30])
        steps.append(parser.feed(text[at : at + step]))
        at += step
    steps.append(parser.finish())

    assert sum(steps, Parsed()) == whole
    ends = {len("".join(step.content for step in steps[:count])) for count in range(len(steps))}
    assert not ends & inside_markers(family, whole.content)
    if not whole.calls:
        assert whole.content == text


def inside_markers(family: Family, content: str) -> set[int]:
    """The places between two letters of one marker."""
    return {
        at + offset
        for marker in MARKERS[family]
        for at in range(len(content))
        if content.startswith(marker, at)
        for offset in range(1, len(marker))
    }


NESTED = st.recursive(st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.text(), st.lists, max_leaves=5)


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(
        [
            ("hermes", '<tool_call>{"name": "f", "arguments": %s}</tool_call>'),
            ("llama3", '{"name": "f", "parameters": %s}'),
            ("mistral", "[TOOL_CALLS]f[ARGS]%s"),
            ("mistral", '[TOOL_CALLS][{"arguments": %s, "name": "f"}]'),
        ]
    ),
    st.dictionaries(st.text(), NESTED),
    st.booleans(),
)
def test_any_json_object_is_carried_unchanged(form: tuple[Family, str], arguments: object, ascii_only: bool) -> None:
    written = json.dumps(arguments, ensure_ascii=ascii_only)

    parsed = parse_calls(form[0], "answer", form[1] % written)

    assert calls(parsed) == [("f", written)]
