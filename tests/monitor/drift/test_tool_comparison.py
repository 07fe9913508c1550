from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.tool_comparison import Discordant, compare_triggers, compare_twins
from monitor.drift.tool_metrics import tool_metrics
from probes.quirks import Quirk
from probes.tools.case import Category
from probes.tools.scored import Exclusion, Scored
from tests.monitor.drift.scored_answers import called, scored

counts = st.lists(st.integers(1, 5).flatmap(lambda r: st.tuples(st.integers(0, r), st.just(r))), min_size=1, max_size=5)


def answers(told: list[tuple[int, int]]) -> list[Scored]:
    return [one for place, (times, of) in enumerate(told) for one in called(str(place), times=times, of=of)]


@pytest.mark.parametrize(("calls", "f1"), [(1958, 0.657), (1274, 0.483)])
def test_an_endpoint_that_always_calls_scores_by_how_often_the_reference_does(calls: int, f1: float) -> None:
    found = compare_triggers(answers([(1, 1)] * 4000), answers([(1, 1)] * calls + [(0, 1)] * (4000 - calls)))
    assert found.f1.value == pytest.approx(f1, abs=5e-4)
    assert found.f1.denominator == 4000


@given(counts, st.data())
@settings(max_examples=50)
def test_f1_is_over_all_pairs_of_answers_of_a_prompt(ours: list[tuple[int, int]], data: st.DataObject) -> None:
    theirs = data.draw(
        st.lists(
            st.integers(2, 4).flatmap(lambda r: st.tuples(st.integers(0, r), st.just(r))),
            min_size=len(ours),
            max_size=len(ours),
        )
    )
    tp = fp = fn = 0.0
    for (x, r_x), (y, r_y) in zip(ours, theirs, strict=True):
        pairs = list(itertools.product([True] * x + [False] * (r_x - x), [True] * y + [False] * (r_y - y)))
        tp += pairs.count((True, True)) / len(pairs)
        fp += pairs.count((True, False)) / len(pairs)
        fn += pairs.count((False, True)) / len(pairs)
    found = compare_triggers(answers(ours), answers(theirs)).f1
    wanted = 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else None
    assert found.value == (None if wanted is None else pytest.approx(wanted))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=5))
@settings(max_examples=50)
def test_self_f1_is_over_pairs_of_different_answers(times: list[int]) -> None:
    told = [(y, 4) for y in times]
    tp = differ = 0.0
    for y, r in told:
        pairs = list(itertools.permutations([True] * y + [False] * (r - y), 2))
        tp += pairs.count((True, True)) / len(pairs)
        differ += sum(a != b for a, b in pairs) / len(pairs)
    found = compare_triggers(answers(told), answers(told)).self_f1
    wanted = 2 * tp / (2 * tp + differ) if tp + differ else None
    assert found.value == (None if wanted is None else pytest.approx(wanted))


def test_an_unchanged_random_model_is_no_worse_than_itself() -> None:
    told = [(1, 4), (2, 4), (3, 4), (4, 4), (0, 4)]
    found = compare_triggers(answers(told), answers(told))
    assert found.f1.value is not None
    assert found.self_f1.value is not None
    assert found.f1.value < 1.0
    # The same counts on both sides are nearer to each other than two draws are: the unbiased gap is below 0.
    assert found.gap.numerator < 0
    assert found.self_f1.value < found.f1.value


def test_only_prompts_of_both_sides_are_compared() -> None:
    ours = [*called("a", times=2, of=2), *called("b", times=1, of=2), *called("c", times=0, of=2)]
    theirs = [*called("a", times=2, of=2), *called("b", times=1, of=1), *called("d", times=0, of=2)]
    found = compare_triggers(ours, theirs)
    assert len(found.paired) == 2
    assert (found.f1.denominator, dict(found.f1.excluded)) == (2, {"not_in_both": 2})
    assert (found.self_f1.denominator, dict(found.self_f1.excluded)) == (1, {"not_in_both": 2, "asked_once": 1})
    assert (found.gap.denominator, dict(found.gap.excluded)) == (1, {"not_in_both": 2, "asked_once": 1})


def test_what_says_nothing_of_calling_is_not_compared() -> None:
    ours = [
        *called("a", times=1, of=2),
        scored("a", excluded=Exclusion.LENGTH),
        scored("b", called=True, category=Category.T10),
    ]
    found = compare_triggers(ours, ours)
    assert (found.paired.x.tolist(), found.paired.r_x.tolist()) == ([1], [2])


def test_nothing_in_common_has_no_value() -> None:
    found = compare_triggers(called("a", times=1, of=2), called("b", times=1, of=2))
    assert [rate.value for rate in (found.f1, found.self_f1, found.gap)] == [None, None, None]
    assert compare_triggers(called("a", times=0, of=2), called("a", times=0, of=2)).f1.value is None


def test_the_interval_narrows_with_more_prompts() -> None:
    told = [(1, 4), (2, 4), (4, 4)]
    few, many = (compare_triggers(answers(told * n), answers(told[::-1] * n)).f1 for n in (3, 30))
    assert few.value == pytest.approx(many.value)
    bounds = [few.low, many.low, many.value, many.high, few.high]
    assert None not in bounds
    assert bounds == sorted(filter(None, bounds))


def twin(rep: int, *, stream: bool, **facts: object) -> Scored:
    return scored("a", rep=rep, stream=stream, **{"called": True, "right": True, **facts})


def test_twins_agree_in_their_defects_and_in_calling() -> None:
    stacked = frozenset({Quirk.TC_INDEX_MISSING})
    pairs = [
        (twin(0, stream=True), twin(0, stream=False)),
        (twin(1, stream=True, defects=stacked), twin(1, stream=False)),
        (twin(2, stream=True, called=False, right=False), twin(2, stream=False)),
        (twin(3, stream=True), twin(3, stream=False, right=False)),
        (twin(4, stream=True, defects=frozenset({Quirk.TC_SCHEMA_MISMATCH})), twin(4, stream=False)),
        (twin(5, stream=True), twin(5, stream=False, excluded=Exclusion.TRANSPORT, called=None, right=None)),
    ]
    found = compare_twins([*itertools.chain(*pairs), twin(6, stream=True)])
    assert (found.agreement.numerator, found.agreement.denominator) == (3, 5)
    assert dict(found.agreement.excluded) == {"transport": 1}
    assert found.called == Discordant(only_stream=0, only_plain=1)
    assert found.defective == Discordant(only_stream=1, only_plain=0)
    assert found.wrong == Discordant(only_stream=1, only_plain=1)


def test_without_twins_there_is_no_agreement() -> None:
    assert compare_twins([twin(0, stream=True), twin(1, stream=False)]).agreement.value is None
    assert tool_metrics([twin(0, stream=True)])["oracle_met"].value == 1.0
