from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.rates import Rate
from monitor.drift.tool_metrics import tool_metrics
from probes.quirks import Quirk
from probes.tools.case import Trigger
from probes.tools.ladder import Rung
from probes.tools.matchers import LeafMatch
from probes.tools.scored import Availability, Exclusion, Scored
from tests.monitor.drift.scored_answers import FINE, LOST, call, called, scored


def of(rate: Rate) -> tuple[float, int, dict[str, int]]:
    return rate.numerator, rate.denominator, dict(rate.excluded)


def test_nothing_has_no_rate() -> None:
    rates = tool_metrics([])
    assert len(rates) > 30
    for rate in rates.values():
        assert (rate.value, rate.low, rate.high, of(rate)) == (None, None, None, (0, 0, {}))


def test_availability_is_of_all_that_was_asked() -> None:
    recovered = Availability(first_ok=False, eventually_ok=True, shed=True)
    answers = [
        scored("a", called=True),
        scored("b", called=True, availability=recovered),
        scored("c", completed=False, availability=LOST, excluded=Exclusion.TRANSPORT),
        scored("d", completed=False, availability=LOST, excluded=Exclusion.RATE_LIMITED),
    ]
    rates = tool_metrics(answers)
    assert of(rates["first_attempt_ok"]) == (1, 4, {})
    assert of(rates["eventual_ok"]) == (2, 4, {})
    assert of(rates["shed_rate"]) == (1, 4, {})


def test_what_failed_or_was_cut_is_no_answer_without_a_call() -> None:
    answers = [
        scored("a", called=True),
        scored("b", called=False, missed_as_text=False),
        scored("c", excluded=Exclusion.LENGTH),
        scored("d", excluded=Exclusion.CONTENT_FILTER),
        scored("e", completed=False, excluded=Exclusion.RATE_LIMITED),
        scored("f", completed=False, excluded=Exclusion.RATE_LIMITED),
    ]
    rates = tool_metrics(answers)
    left_out = {"length": 1, "content_filter": 1, "rate_limited": 2}
    assert of(rates["trigger_rate"]) == (1, 2, left_out)
    assert of(rates["missed_as_text"]) == (0, 1, left_out)
    assert of(rates["conformance_ok"]) == (4, 4, {"rate_limited": 2})


def test_triggers_are_held_against_their_own_prompts() -> None:
    answers = [
        scored("a", called=True),
        scored("b", called=False),
        scored("c", trigger=Trigger.MUST_NOT, called=True),
        scored("d", trigger=Trigger.MUST_NOT, excluded=Exclusion.TRANSPORT, completed=False),
        scored("e", trigger=Trigger.CALIBRATED, called=True),
    ]
    rates = tool_metrics(answers)
    assert of(rates["oracle_trigger_tpr"]) == (1, 2, {})
    assert of(rates["oracle_trigger_fpr"]) == (1, 1, {"transport": 1})
    assert of(rates["trigger_rate"]) == (3, 4, {"transport": 1})


def test_each_rung_counts_the_calls_that_get_past_it() -> None:
    calls = (
        call(Rung.ARGS_NOT_STRING, Rung.OK),
        call(Rung.INVALID_JSON),
        call(Rung.UNKNOWN_TOOL),
        call(Rung.NOT_OBJECT, Rung.SCHEMA_MISMATCH),
        call(Rung.SCHEMA_MISMATCH),
        call(Rung.VALUE_MISMATCH),
        call(Rung.OK),
        call(Rung.OK, judged=False),
    )
    rates = tool_metrics([scored(called=True, calls=calls)])
    strict = {name: of(rates[name])[:2] for name in ("json_ok", "name_ok", "object_ok", "schema_ok", "value_ok")}
    lenient = {name: of(rates[f"{name}_lenient"])[:2] for name in strict}
    assert strict == {
        "json_ok": (6, 8),
        "name_ok": (5, 8),
        "object_ok": (4, 8),
        "schema_ok": (3, 8),
        "value_ok": (1, 7),
    }
    assert lenient == {
        "json_ok": (7, 8),
        "name_ok": (6, 8),
        "object_ok": (6, 8),
        "schema_ok": (4, 8),
        "value_ok": (2, 7),
    }


def test_a_request_fails_with_any_of_its_calls() -> None:
    good, bad = call(Rung.OK), call(Rung.SCHEMA_MISMATCH, draft7=True)
    answers = [
        scored("a", called=True, calls=(good, good)),
        scored("b", called=True, calls=(good, bad)),
        scored("c", called=False),
    ]
    rates = tool_metrics(answers)
    assert of(rates["schema_ok"])[:2] == (3, 4)
    assert of(rates["schema_ok_requests"])[:2] == (1, 2)
    assert of(rates["schema_ok_draft7_requests"])[:2] == (2, 2)


def test_k2vv_counts_what_finishes_with_tool_calls_and_nothing_else() -> None:
    good = (call(Rung.VALUE_MISMATCH),)
    answers = [
        scored("a", finish_reason="tool_calls", called=True, calls=good),
        scored("b", finish_reason="tool_calls", called=False),
        scored("c", finish_reason="tool_calls", called=True, calls=(*good, call(Rung.ARGS_NOT_STRING, Rung.OK))),
        scored("d", finish_reason="tool_calls", excluded=Exclusion.LENGTH, calls=(call(Rung.INVALID_JSON),)),
        scored("e", finish_reason="stop", called=True, calls=good),
        scored("f", completed=False, excluded=Exclusion.TRANSPORT),
    ]
    assert of(tool_metrics(answers)["schema_accuracy_k2vv"]) == (1, 4, {"transport": 1})


@pytest.mark.parametrize(
    ("ok", "calls", "percent", "low", "high"),
    [(1856, 2128, 87.22, 0.857, 0.886), (1825, 1827, 99.89, 0.996, 0.9997)],
)
def test_published_accuracies_come_out(ok: int, calls: int, percent: float, low: float, high: float) -> None:
    good, bad = (call(Rung.OK),), (call(Rung.SCHEMA_MISMATCH),)
    answers = [
        scored(str(place), called=True, finish_reason="tool_calls", calls=good if place < ok else bad)
        for place in range(calls)
    ]
    rate = tool_metrics(answers)["schema_accuracy_k2vv"]
    assert rate.value is not None
    assert rate.low is not None
    assert rate.high is not None
    assert round(100 * rate.value, 2) == percent
    assert rate.low == pytest.approx(low, abs=6e-4)
    assert rate.high == pytest.approx(high, abs=6e-4)


def test_no_failure_in_120_shows_no_more_than_it_can() -> None:
    rate = tool_metrics([scored(str(place), called=True) for place in range(120)])["oracle_trigger_tpr"]
    assert rate.value == 1.0
    assert rate.low == pytest.approx(0.969, abs=5e-4)


def test_repeats_of_one_case_are_one_cluster() -> None:
    together = [*called("a", times=10, of=10), *called("b", times=0, of=10)]
    apart = [one for place in range(20) for one in called(str(place), times=place % 2, of=1)]
    wide, narrow = (tool_metrics(answers)["trigger_rate"] for answers in (together, apart))
    assert wide.value == narrow.value == 0.5
    assert wide.low is not None
    assert narrow.low is not None
    assert wide.low < narrow.low


def test_values_are_shares_of_each_expected_call() -> None:
    answers = [
        scored("a", called=True, matches=(LeafMatch(2, 2), LeafMatch(1, 2))),
        scored("b", called=False, matches=(LeafMatch(0, 2),)),
        scored("c", called=True),
    ]
    assert of(tool_metrics(answers)["arg_match"]) == (1.5, 3, {})


@pytest.mark.parametrize(
    ("metric", "fact"),
    [
        ("finish_agreement", "finish_agrees"),
        ("parallel_exact", "parallel_exact"),
        ("missed_as_text", "missed_as_text"),
        ("oracle_met", "right"),
        ("oracle_met_lenient", "right_repaired"),
    ],
)
def test_a_fact_is_counted_where_it_was_looked_at(metric: str, fact: str) -> None:
    answers = [scored("a", **{fact: True}), scored("b", **{fact: False}), scored("c", **{fact: None})]
    assert of(tool_metrics(answers)[metric])[:2] == (1, 2)


def test_defects_of_the_stack_alone_are_no_conformance() -> None:
    answers = [
        scored("a", defects=frozenset({Quirk.TC_ID_MISSING, Quirk.TC_INDEX_REUSED})),
        scored("b", defects=frozenset({Quirk.TC_SCHEMA_MISMATCH, Quirk.BUFFERED_TOKENS})),
        scored("c", defects=frozenset({Quirk.TC_ID_MISSING}), excluded=Exclusion.LENGTH),
        scored("d", defects=frozenset({Quirk.RATE_LIMITED}), completed=False, excluded=Exclusion.RATE_LIMITED),
    ]
    assert of(tool_metrics(answers)["conformance_ok"]) == (1, 3, {"rate_limited": 1})


def test_a_refusal_that_was_due_is_right_and_says_nothing_of_calls() -> None:
    rates = tool_metrics([scored(completed=False, right=True, right_repaired=True)])
    assert of(rates["oracle_met"]) == (1, 1, {})
    assert of(rates["conformance_ok"]) == (0, 0, {"refused": 1})
    assert of(rates["trigger_rate"]) == (0, 0, {})


answers = st.builds(
    scored,
    st.sampled_from("abc"),
    completed=st.booleans(),
    availability=st.sampled_from([FINE, LOST]),
    trigger=st.sampled_from(Trigger),
    excluded=st.none() | st.sampled_from(Exclusion),
    called=st.none() | st.booleans(),
    finish_agrees=st.none() | st.booleans(),
    missed_as_text=st.none() | st.booleans(),
    right=st.none() | st.booleans(),
    finish_reason=st.sampled_from(["stop", "tool_calls", None]),
    calls=st.lists(st.builds(call, st.sampled_from(Rung), judged=st.booleans()), max_size=3).map(tuple),
    matches=st.lists(st.builds(LeafMatch, st.integers(0, 2), st.just(2)), max_size=2).map(tuple),
    defects=st.frozensets(st.sampled_from(Quirk), max_size=2),
)


@given(st.lists(answers, max_size=12))
@settings(max_examples=50)
def test_every_rate_holds_together(answers: list[Scored]) -> None:
    for name, rate in tool_metrics(answers).items():
        assert 0 <= rate.numerator <= rate.denominator, name
        assert sum(rate.excluded.values()) <= len(answers)
        if rate.denominator:
            assert rate.low is not None
            assert rate.high is not None
            assert 0.0 <= rate.low <= rate.numerator / rate.denominator <= rate.high <= 1.0
        else:
            assert rate.value is None


@given(st.lists(answers, max_size=8), st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_the_order_of_answers_is_no_matter(answers: list[Scored], random: Any) -> None:
    shuffled = answers[:]
    random.shuffle(shuffled)
    again = tool_metrics(shuffled)
    for name, rate in tool_metrics(answers).items():
        assert of(again[name]) == of(rate)
