from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.plan import Attempt, Outcome, Sample
from probes.quirks import Quirk
from probes.tools.attribution import Layer
from probes.tools.case import Case, Category, ExpectedCall, Leaf, Trigger
from probes.tools.ladder import Repair, Rung
from probes.tools.matchers import LeafMatch
from probes.tools.score import score
from probes.tools.scored import Exclusion, Fault, Scored
from tests.probes.tools.answers import AT, answer, body, call, case, exactly, lost, received, tool

GOOD = '{"berth": 7, "vessel": "Petrel"}'
BOOK = exactly("book", berth=7, vessel="Petrel")
MUST = case(BOOK)
MUST_NOT = case(trigger=Trigger.MUST_NOT, category=Category.T2)
CUT_OFF = b'data: {"choices": [{"delta": {"content": "a"}}]}\n\n'
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def faults(scored: Scored) -> set[Fault]:
    assert scored.excluded is None
    assert scored.right is (not scored.faults)
    return set(scored.faults)


def test_a_right_answer_is_right() -> None:
    scored = score(MUST, answer(MUST, call("book", GOOD)))
    assert scored.right
    assert scored.right_repaired
    assert scored.layer is None
    assert (scored.case_key, scored.category, scored.family) == (MUST.key, Category.T1, "berths")
    assert (scored.completed, scored.called, scored.finish_agrees, scored.missed_as_text) == (True, True, True, None)
    assert scored.matches == (LeafMatch(2, 2),)
    (only,) = scored.calls
    assert (only.strict, only.lenient, only.expected, only.draft7) == (Rung.OK, Rung.OK, 0, True)
    assert only.arguments_sha256 is not None
    assert scored.parallel_exact is None


def test_the_right_call_is_not_called_because_it_stands_in_the_text() -> None:
    scored = score(MUST, answer(MUST, content=f'<tool_call>{{"name": "book", "arguments": {GOOD}}}</tool_call>'))
    assert faults(scored) == {Fault.NOT_CALLED, Fault.CALL_AS_TEXT}
    assert (scored.called, scored.missed_as_text, scored.layer) == (False, True, Layer.STACK)
    assert scored.calls == ()
    assert scored.matches == (LeafMatch(0, 2),)


def test_a_call_lost_in_the_reasoning_is_the_stacks() -> None:
    lost = f'<tool_call>{{"name": "book", "arguments": {GOOD}}}</tool_call>'
    scored = score(MUST, answer(MUST, content="Done.", message={"reasoning_content": lost}))
    assert faults(scored) == {Fault.NOT_CALLED, Fault.CALL_IN_REASONING}
    assert scored.layer is Layer.STACK


def test_an_answer_without_the_call_is_the_models() -> None:
    scored = score(MUST, answer(MUST, content="Which berth would you like?"))
    assert faults(scored) == {Fault.NOT_CALLED}
    assert (scored.layer, scored.missed_as_text) == (Layer.MODEL, False)


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ([call("book", '{"berth": 8, "vessel": "Petrel"}')], {Fault.VALUES}),
        ([call("book", '{"berth": 7, "vessel": "Petrel", "tide": "neap"}')], {Fault.VALUES}),
        ([call("book", '{"berth": 7}')], {Fault.CALL_BROKEN}),
        ([call("cancel", GOOD)], {Fault.CALL_MISSING, Fault.CALL_EXTRA}),
        ([call("sink", GOOD)], {Fault.CALL_BROKEN, Fault.CALL_MISSING, Fault.CALL_EXTRA}),
        ([call("book", GOOD), call("book", GOOD, "call_2")], {Fault.CALL_EXTRA}),
        ([call("book", GOOD), call("list", "{}", "call_2")], {Fault.CALL_EXTRA}),
    ],
)
def test_wrong_calls_are_the_models(calls: list[dict[str, Any]], found: set[Fault]) -> None:
    scored = score(MUST, answer(MUST, *calls))
    assert faults(scored) == found
    assert not scored.right_repaired
    assert scored.layer is Layer.MODEL


@pytest.mark.parametrize(
    ("arguments", "rung", "repair"),
    [
        ({"berth": 7, "vessel": "Petrel"}, Rung.ARGS_NOT_STRING, Repair.OBJECT_ARGUMENTS),
        (json.dumps(GOOD), Rung.NOT_OBJECT, Repair.DOUBLE_ENCODED),
        (GOOD + GOOD, Rung.INVALID_JSON, Repair.SAID_TWICE),
    ],
)
def test_a_call_that_a_repair_makes_right_is_the_stacks(arguments: Any, rung: Rung, repair: Repair) -> None:
    scored = score(MUST, answer(MUST, call("book", arguments)))
    assert faults(scored) == {Fault.CALL_BROKEN}
    assert scored.right_repaired
    assert scored.layer is Layer.STACK
    (only,) = scored.calls
    assert (only.strict, only.lenient, only.repair) == (rung, Rung.OK, repair)
    assert scored.matches == (LeafMatch(2, 2),)


def test_text_before_the_arguments_is_the_stacks_and_never_scored_as_right() -> None:
    scored = score(MUST, answer(MUST, call("book", f"commentary {GOOD}")))
    assert faults(scored) == {Fault.CALL_BROKEN}
    assert not scored.right_repaired
    assert scored.layer is Layer.STACK
    assert scored.matches == (LeafMatch(0, 2),)


def test_a_call_that_the_provider_refused_was_made_and_failed() -> None:
    refusal = {"error": {"message": "tool call validation failed: not valid JSON", "code": "tool_use_failed"}}
    scored = score(MUST, received(MUST, refusal, 400))
    assert faults(scored) == {Fault.CALL_BROKEN, Fault.CALL_MISSING, Fault.CALL_EXTRA}
    assert (scored.completed, scored.called, scored.layer) == (True, True, Layer.MODEL)
    assert [call.strict for call in scored.calls] == [Rung.INVALID_JSON]
    assert scored.availability.first_ok
    assert scored.finish_agrees is None


def test_a_call_where_none_was_due_is_wrong_however_broken_it_is() -> None:
    for arguments in (GOOD, "{"):
        scored = score(MUST_NOT, answer(MUST_NOT, call("book", arguments)))
        assert faults(scored) == {Fault.CALLED}
        assert scored.layer is Layer.MODEL
    assert score(MUST_NOT, answer(MUST_NOT, content="Petrel lies at berth 7.")).right


def test_a_call_left_as_text_is_no_abstention() -> None:
    scored = score(MUST_NOT, answer(MUST_NOT, content='<tool_call>{"name": "book", "arg'))
    assert faults(scored) == {Fault.CALL_AS_TEXT}


@pytest.mark.parametrize("trigger", [Trigger.CALIBRATED, Trigger.FREE])
def test_where_calling_is_open_only_what_is_called_can_be_wrong(trigger: Trigger) -> None:
    open_case = case(BOOK, trigger=trigger, category=Category.T3)
    assert score(open_case, answer(open_case, content="Which?")).right
    assert score(open_case, answer(open_case, content="Which?")).matches == ()
    assert score(open_case, answer(open_case, call("book", GOOD))).right
    assert faults(score(open_case, answer(open_case, call("book", '{"berth": 8, "vessel": "x"}')))) == {Fault.VALUES}


def test_any_call_will_do_where_none_is_named() -> None:
    required = case(category=Category.T10, settings={"tool_choice": "required"})
    assert score(required, answer(required, call("list"))).right
    assert score(required, answer(required, call("list"), call("book", GOOD, "call_2"))).right
    assert faults(score(required, answer(required, call("book", "{}")))) == {Fault.CALL_BROKEN}
    ignored = score(required, answer(required, content="No."))
    assert faults(ignored) == {Fault.NOT_CALLED}
    assert ignored.layer is Layer.STACK


# Cut, filtered, refused, lost: nothing of this is quality.


def test_an_answer_cut_by_length_is_not_an_answer_without_a_call() -> None:
    for content, calls in (("The berth", []), (None, [call("book", '{"ber')])):
        scored = score(MUST, answer(MUST, *calls, content=content, finish="length"))
        assert (scored.excluded, scored.completed) == (Exclusion.LENGTH, True)
        assert (scored.called, scored.right, scored.finish_agrees, scored.layer) == (None, None, None, None)


def test_a_cut_that_the_finish_reason_hides_is_the_stacks() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 100, "total_tokens": 109}
    scored = score(MUST, answer(MUST, call("book", '{"ber'), usage=usage))
    assert (scored.excluded, scored.layer) == (Exclusion.LENGTH, Layer.STACK)
    assert Quirk.FINISH_MASKS_LENGTH in scored.defects


@pytest.mark.parametrize(
    ("sample", "excluded", "layer"),
    [
        (answer(MUST, content="", finish="content_filter"), Exclusion.CONTENT_FILTER, None),
        (received(MUST, {"error": {"message": "slow down"}}, 429), Exclusion.RATE_LIMITED, Layer.TRANSPORT),
        (received(MUST, {"error": {"message": "boom"}}, 500), Exclusion.TRANSPORT, Layer.TRANSPORT),
        (received(MUST, {"error": {"message": "tools are not supported"}}, 400), Exclusion.REFUSED, Layer.STACK),
        (received(MUST, {"error": {"message": "no such key"}}, 401), Exclusion.TRANSPORT, Layer.TRANSPORT),
        (received(MUST, b"<html>Bad gateway</html>"), Exclusion.TRANSPORT, Layer.TRANSPORT),
        (received(MUST, CUT_OFF, stream=True), Exclusion.TRANSPORT, Layer.TRANSPORT),
        (received(MUST, {"error": {"message": "overloaded", "code": 503}}), Exclusion.TRANSPORT, Layer.TRANSPORT),
        (lost(MUST), Exclusion.TRANSPORT, Layer.TRANSPORT),
        (lost(MUST, Outcome.RATE_LIMITED), Exclusion.RATE_LIMITED, Layer.TRANSPORT),
    ],
)  # fmt: skip
def test_what_says_nothing_of_quality_is_excluded_with_its_reason(
    sample: Sample, excluded: Exclusion, layer: Layer | None
) -> None:
    scored = score(MUST, sample)
    assert (scored.excluded, scored.layer) == (excluded, layer)
    assert (scored.right, scored.called, scored.calls, scored.matches) == (None, None, (), ())


def test_the_first_try_counts_by_itself() -> None:
    good = answer(MUST, call("book", GOOD))
    shed = Attempt(503, {}, b"", AT, 0.1, "provider_unreachable")
    lesson = Attempt(400, {}, b"", AT, 0.1, None, "Not accepted in this form; adapted.")

    def tries(*before: Attempt) -> tuple[bool, bool, bool]:
        found = score(MUST, replace(good, attempts=(*before, *good.attempts))).availability
        return found.first_ok, found.eventually_ok, found.shed

    assert tries() == (True, True, False)
    assert tries(shed) == (False, True, True)
    assert tries(lesson) == (True, True, False)
    assert tries(lesson, shed) == (False, True, True)
    assert score(MUST, lost(MUST)).availability.eventually_ok is False


def test_an_answer_that_never_says_it_ended_is_not_whole() -> None:
    unended = body(content="Petrel")
    del unended["choices"][0]["finish_reason"]
    assert not score(MUST_NOT, received(MUST_NOT, unended)).availability.eventually_ok


# Several calls (T9).

PAIR = case(exactly("book", berth=7, vessel="Petrel"), exactly("book", berth=8, vessel="Fulmar"), category=Category.T9)
SECOND = '{"berth": 8, "vessel": "Fulmar"}'


def test_parallel_calls_are_right_in_any_order() -> None:
    scored = score(PAIR, answer(PAIR, call("book", SECOND), call("book", GOOD, "call_2")))
    assert scored.right
    assert scored.parallel_exact
    assert [call.expected for call in scored.calls] == [1, 0]


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ([GOOD], {Fault.CALL_MISSING}),
        ([GOOD, GOOD], {Fault.VALUES}),
        ([GOOD, SECOND, SECOND], {Fault.CALL_EXTRA}),
        ([GOOD + SECOND], {Fault.CALL_BROKEN, Fault.CALL_MISSING}),
    ],
)
def test_another_multiset_is_not(calls: list[str], found: set[Fault]) -> None:
    scored = score(PAIR, answer(PAIR, *(call("book", text, f"call_{i}") for i, text in enumerate(calls))))
    assert faults(scored) == found
    assert scored.parallel_exact is False


def test_a_call_that_nobody_expected_has_no_right_values() -> None:
    texts = (GOOD, '{"berth": 9, "vessel": "Skua"}', SECOND)
    scored = score(PAIR, answer(PAIR, *(call("book", text, f"call_{i}") for i, text in enumerate(texts))))
    assert [call.strict for call in scored.calls] == [Rung.OK, Rung.VALUE_MISMATCH, Rung.OK]
    assert [call.expected for call in scored.calls] == [0, None, 1]


def test_parallel_is_what_a_plain_client_sees() -> None:
    scored = score(PAIR, answer(PAIR, call("book", SECOND), call("book", json.dumps(GOOD), "call_2")))
    assert scored.parallel_exact is False
    assert scored.right_repaired


@pytest.mark.parametrize(("text", "layer"), [(GOOD + SECOND, Layer.STACK), (GOOD + SECOND[:-1], Layer.MODEL)])
def test_calls_that_run_together_are_the_stacks(text: str, layer: Layer) -> None:
    scored = score(PAIR, answer(PAIR, call("book", text)))
    assert faults(scored) == {Fault.CALL_BROKEN, Fault.CALL_MISSING}
    assert scored.layer is layer


def test_an_order_can_be_demanded() -> None:
    ordered = case(*PAIR.oracle.calls, ordered=True)
    assert score(ordered, answer(ordered, call("book", GOOD), call("book", SECOND, "call_2"))).right
    turned = score(ordered, answer(ordered, call("book", SECOND), call("book", GOOD, "call_2")))
    assert faults(turned) == {Fault.VALUES}


# Controls (T10).

ONE = case(*PAIR.oracle.calls, category=Category.T10, most_calls=1, settings={"parallel_tool_calls": False})


def test_either_call_is_right_where_one_is_allowed() -> None:
    for text in (GOOD, SECOND):
        scored = score(ONE, answer(ONE, call("book", text)))
        assert scored.right
        assert scored.matches == (LeafMatch(2, 2),)
    both = score(ONE, answer(ONE, call("book", GOOD), call("book", SECOND, "call_2")))
    assert faults(both) == {Fault.CALL_EXTRA}
    assert both.layer is Layer.STACK
    assert both.parallel_exact is None


NONE = case(trigger=Trigger.MUST_NOT, category=Category.T10, settings={"tool_choice": "none"})
NAMED = case(
    ExpectedCall("book", {}, open=True),
    category=Category.T10,
    settings={"tool_choice": {"type": "function", "function": {"name": "book"}}},
    finish=("stop", "tool_calls"),
)


def test_a_call_where_calling_was_switched_off_is_the_stacks() -> None:
    scored = score(NONE, answer(NONE, call("book", GOOD)))
    assert faults(scored) == {Fault.CALLED}
    assert scored.layer is Layer.STACK


def test_where_calling_was_switched_off_text_is_text() -> None:
    assert score(NONE, answer(NONE, content='<tool_call>{"name": "book"}</tool_call>')).right


def test_a_function_forced_by_name_may_finish_with_stop() -> None:
    scored = score(NAMED, answer(NAMED, call("book", GOOD), finish="stop"))
    assert scored.right
    assert scored.finish_agrees
    assert score(NAMED, answer(NAMED, call("list"))).layer is Layer.STACK
    assert not score(MUST, answer(MUST, call("book", GOOD), finish="stop")).finish_agrees
    assert not score(MUST, answer(MUST, content="x", finish="tool_calls")).finish_agrees


INVALID = case(
    trigger=Trigger.FREE,
    category=Category.T10,
    settings={"tool_choice": "perhaps"},
    rejected=True,
    answered=False,
    refusal_names=("tool_choice",),
)


@pytest.mark.parametrize(
    "refusal",
    [
        {"error": {"message": "Invalid value for 'tool_choice'", "param": None}},
        {"error": {"message": "Invalid value", "param": "tool_choice"}},
        {"detail": [{"loc": ["body", "tool_choice"], "msg": "Input should be 'none', 'auto'", "type": "enum"}]},
    ],
)
def test_a_refusal_that_names_the_parameter_is_right(refusal: dict[str, Any]) -> None:
    scored = score(INVALID, received(INVALID, refusal, 422))
    assert scored.right
    assert (scored.completed, scored.called, scored.layer) == (False, None, None)
    assert scored.availability.first_ok


def test_a_refusal_for_nothing_in_particular_is_not() -> None:
    scored = score(INVALID, received(INVALID, {"error": {"message": "Bad request"}}, 400))
    assert faults(scored) == {Fault.REFUSAL_UNNAMED}
    assert scored.layer is Layer.STACK


def test_an_answer_where_a_refusal_was_due_is_not_right() -> None:
    scored = score(INVALID, answer(INVALID, content="Done."))
    assert faults(scored) == {Fault.NOT_REFUSED}
    assert scored.layer is Layer.STACK


@pytest.mark.parametrize("status", [401, 404, 408, 429, 500, 503])
def test_a_failure_is_no_refusal(status: int) -> None:
    scored = score(INVALID, received(INVALID, {"error": {"message": "tool_choice"}}, status))
    assert scored.excluded in (Exclusion.TRANSPORT, Exclusion.RATE_LIMITED)


# max_tokens inside the arguments (T12).

CUT = case(exactly("book", berth=7, vessel="Petrel"), category=Category.T12, cut=True, finish=("length",))


def used(tokens: int) -> dict[str, Any]:
    return {"usage": {"prompt_tokens": 9, "completion_tokens": tokens, "total_tokens": 9 + tokens}}


def test_a_cut_inside_the_arguments_is_right_where_it_is_said() -> None:
    scored = score(CUT, answer(CUT, call("book", '{"berth": 7, "ves'), finish="length", **used(100)))
    assert scored.right
    # What was cut is no call, and no failed one.
    assert (scored.called, scored.calls, scored.matches) == (None, (), ())
    assert score(CUT, answer(CUT, content="I", finish="length", **used(100))).right


@pytest.mark.parametrize(
    ("arguments", "finish", "tokens", "found"),
    [
        ('{"berth": 7, "ves', "tool_calls", 100, {Fault.FINISH}),
        ('{"berth": 7, "ves', "stop", 40, {Fault.FINISH}),
        ('{"berth": 7}', "length", 100, {Fault.CALL_COMPLETED}),
        ({"berth": 7}, "length", 100, {Fault.CALL_COMPLETED}),
        ('{"berth": 7}', "tool_calls", 100, {Fault.FINISH, Fault.CALL_COMPLETED}),
    ],
)
def test_a_cut_that_is_hidden_or_mended_is_the_stacks(
    arguments: Any, finish: str, tokens: int, found: set[Fault]
) -> None:
    scored = score(CUT, answer(CUT, call("book", arguments), finish=finish, **used(tokens)))
    assert faults(scored) == found
    assert scored.layer is Layer.STACK


def test_an_answer_that_ended_by_itself_says_nothing_of_cuts() -> None:
    assert score(CUT, answer(CUT, call("book", GOOD), **used(40))).excluded is Exclusion.UNCUT


# Reasoning (T13), history (T14), structured output (T16), finish.


@pytest.mark.parametrize(
    ("wanted", "content", "reasoning", "found"),
    [
        ("present", "Seven.", "Seven, then.", set()),
        ("present", "Seven.", None, {Fault.REASONING_MISSING}),
        ("absent", "Seven.", None, set()),
        ("absent", "Seven.", "Seven, then.", {Fault.REASONING_PRESENT}),
        ("present", "<think>Seven?</think>Seven.", None, {Fault.REASONING_LEAKED}),
        ("absent", "Seven?</think>Seven.", None, {Fault.REASONING_LEAKED}),
    ],
)
def test_reasoning_is_there_or_not_and_never_in_the_content(
    wanted: Any, content: str, reasoning: str | None, found: set[Fault]
) -> None:
    thinking = case(trigger=Trigger.FREE, category=Category.T13, reasoning=wanted)
    message = {} if reasoning is None else {"reasoning_content": reasoning}
    scored = score(thinking, answer(thinking, content=content, message=message))
    assert faults(scored) == found
    assert scored.layer is (Layer.STACK if found else None)


HISTORY = case(
    trigger=Trigger.MUST_NOT, category=Category.T14, content=Leaf("regex", "KR-1182"), rejected=True,
    refusal_names=("tool_call_id",),
)  # fmt: skip


def test_a_history_is_recovered_from_or_refused() -> None:
    assert score(HISTORY, answer(HISTORY, content="The code is KR-1182.")).right
    wrong = score(HISTORY, answer(HISTORY, content="There is no code."))
    assert faults(wrong) == {Fault.CONTENT}
    assert wrong.layer is Layer.MODEL
    assert score(HISTORY, received(HISTORY, {"error": {"message": "unknown tool_call_id"}}, 400)).right
    assert not score(HISTORY, received(HISTORY, {"error": {"message": "bad"}}, 400)).right


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ('{"n": 1}', set()),
        (' {"n": 1}\n', set()),
        ('{"n": "1"}', {Fault.CONTENT_SCHEMA}),
        ("{}", {Fault.CONTENT_SCHEMA}),
        ('```json\n{"n": 1}\n```', {Fault.CONTENT_NOT_JSON}),
        ('{"n": NaN}', {Fault.CONTENT_NOT_JSON}),
        (None, {Fault.CONTENT_NOT_JSON}),
    ],
)
def test_content_is_held_to_its_schema(content: str | None, found: set[Fault]) -> None:
    structured = case(trigger=Trigger.FREE, category=Category.T16, content_schema=SCHEMA)
    scored = score(structured, answer(structured, content=content))
    assert faults(scored) == found
    assert scored.layer is (Layer.STACK if found else None)
    assert (scored.content_fault is not None) == (Fault.CONTENT_SCHEMA in found)


def test_a_model_that_declines_is_no_stack_that_forgets_the_form() -> None:
    structured = case(trigger=Trigger.FREE, category=Category.T16, content_schema=SCHEMA)
    message = {"role": "assistant", "content": None, "refusal": "Rather not."}
    body = {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    scored = score(structured, received(structured, body))
    assert (faults(scored), scored.layer) == ({Fault.CONTENT}, Layer.MODEL)


def test_a_call_needs_no_content() -> None:
    structured = case(trigger=Trigger.FREE, category=Category.T16, content_schema=SCHEMA)
    assert score(structured, answer(structured, call("book", GOOD))).right


def test_a_finish_reason_can_be_demanded() -> None:
    demanding = case(BOOK, finish=("tool_calls",))
    assert faults(score(demanding, answer(demanding, call("book", GOOD), finish="stop"))) == {Fault.FINISH}
    uncalled = score(demanding, answer(demanding, content="Which?"))
    assert faults(uncalled) == {Fault.NOT_CALLED}
    assert uncalled.layer is Layer.MODEL


def test_a_right_answer_with_a_defect_is_right_and_the_stack_is_not() -> None:
    scored = score(MUST, answer(MUST, {**call("book", GOOD), "id": ""}))
    assert scored.right
    assert scored.layer is Layer.STACK
    assert scored.defects == {Quirk.TC_ID_MISSING}


def test_stream_and_repeat_are_those_of_the_sample() -> None:
    chunk = {"id": "c", "object": "chat.completion.chunk", "model": "m"}
    delta = {"role": "assistant", "tool_calls": [{"index": 0, **call("book", GOOD)}]}
    pieces: list[dict[str, Any]] = [{"delta": delta}, {"delta": {}, "finish_reason": "tool_calls"}]
    events = [json.dumps({**chunk, "choices": [{"index": 0, **piece}]}) for piece in pieces]
    raw = "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"]).encode()
    scored = score(MUST, received(MUST, raw, rep=3, stream=True))
    assert scored.right
    assert (scored.stream, scored.rep) == (True, 3)
    assert not score(MUST, answer(MUST, call("book", GOOD))).stream


texts = st.text(max_size=20) | st.sampled_from([GOOD, GOOD[:-1], "{}", "", json.dumps(GOOD)])
calls = st.builds(
    call, st.sampled_from(["book", "list", "sink", ""]), texts | st.none() | st.dictionaries(st.text(), st.integers())
)
cases = st.sampled_from([MUST, MUST_NOT, PAIR, ONE, NONE, NAMED, INVALID, CUT, HISTORY])


@given(
    cases, st.lists(calls, max_size=3), st.none() | texts, st.sampled_from(["stop", "tool_calls", "length", "eos", ""])
)
@settings(max_examples=50)
def test_any_answer_is_scored(case: Case, calls: list[dict[str, Any]], content: str | None, finish: str) -> None:
    scored = score(case, answer(case, *calls, content=content, finish=finish))
    assert (scored.right is None) == (scored.excluded is not None)
    if scored.right:
        assert scored.right_repaired
        assert not scored.faults
    for made in scored.calls:
        assert made.strict.height <= made.lenient.height
    assert sum(match.leaves for match in scored.matches) <= 4


def test_names_that_a_model_made_up_are_kept_short() -> None:
    scored = score(MUST, answer(MUST, call("x" * 5_000)))
    assert len(scored.calls[0].name) == 128
    named = case(tools=[tool("book", {"additionalProperties": {"type": "integer"}})])
    (only,) = score(named, answer(named, call("book", json.dumps({"y" * 5_000: "z"})))).calls
    assert only.fault is not None
    assert len(only.fault.pointer) == 256


def test_hostile_arguments_are_scored_in_time() -> None:
    wide = case(ExpectedCall("book", {"/vessel": Leaf("regex", "^(a+)+$")}), tools=[tool("book", {"type": "object"})])
    texts = [
        json.dumps({"vessel": "a" * 200_000 + "!"}),
        '{"vessel": ' + "[" * 100_000,
        '{"vessel": ' + "9" * 50_000 + "}",
        '{"vessel": 1e' + "9" * 50_000 + "}",
        json.dumps({str(position): position for position in range(20_000)}),
        "{" * 50_000,
    ]
    for text in texts:
        assert not score(wide, answer(wide, call("book", text))).right
    many = case(*[exactly("book", berth=berth, vessel="x") for berth in range(16)], category=Category.T9)
    huge = call("book", json.dumps(dict.fromkeys(map(str, range(100)), 1)))
    assert not score(many, answer(many, *[huge] * 100)).right
