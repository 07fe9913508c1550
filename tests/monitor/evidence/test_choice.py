"""Which samples fail, by what, and which of them are shown."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.evidence.choice import choose
from monitor.evidence.classes import failing_classes
from monitor.evidence.wording import OF_OUTCOMES, OF_QUIRKS
from monitor.store import Answer, Exchange
from monitor.store.browse_records import SampleRecord
from monitor.store.whole_samples import WholeSample
from probes.plan import Outcome
from probes.quirks import Disposition, Quirk
from tests.monitor.store.material import AT

FACTS = SampleRecord(
    id=1,
    run_id="run_1",
    endpoint_id="ep_1",
    created_at=AT,
    sent_at=AT,
    item_key="a",
    rep=0,
    anchor=False,
    outcome=Outcome.OK,
    attempts=1,
    first_attempt_ok=True,
    error_code=None,
    http_status=200,
    finish_reason="stop",
    quirks=(),
    ttft_ms=None,
    total_ms=1.0,
    tokens_in=1,
    tokens_out=1,
    tokens_cached=None,
    provider_request_id=None,
    response_sha256=None,
)


def sample(sample_id: int, size: int | None, *quirks: str) -> WholeSample:
    """`size`: bytes of its answer; None: its body is deleted."""
    facts = replace(FACTS, id=sample_id, quirks=quirks)
    if size is None:
        return WholeSample(facts, None)
    answer = Answer(200, {}, b"", size, AT, 1.0, None, None)
    return WholeSample(facts, Exchange("a", 0, {"model": "lark"}, (answer,)))


def names(outcome: Outcome, *quirks: Quirk) -> list[str]:
    return [found.name for found in failing_classes(replace(FACTS, outcome=outcome, quirks=quirks))]


def test_a_sample_fails_by_its_outcome_and_by_every_quirk_held_against_it() -> None:
    assert names(Outcome.OK) == []
    assert names(Outcome.OK, Quirk.SSE_MISSING_DONE, Quirk.LP_SENTINEL) == []
    assert names(Outcome.OK, Quirk.TC_UNKNOWN_TOOL, Quirk.FINISH_DUPLICATE) == ["FINISH_DUPLICATE", "TC_UNKNOWN_TOOL"]
    assert names(Outcome.RATE_LIMITED, Quirk.RATE_LIMITED) == ["rate_limited", "RATE_LIMITED"]
    assert names(Outcome.SKIPPED) == []


def test_every_failure_has_words() -> None:
    held_against = [quirk for quirk in Quirk if quirk.disposition in (Disposition.FLAG, Disposition.ERROR)]

    assert list(OF_QUIRKS) == held_against
    assert set(OF_OUTCOMES) == set(Outcome) - {Outcome.OK, Outcome.SKIPPED}


def test_a_quirk_that_this_program_does_not_know_is_no_failure() -> None:
    assert failing_classes(replace(FACTS, quirks=("TC_OF_TOMORROW",))) == ()


@pytest.mark.parametrize(("most", "ids"), [(1, (3,)), (2, (3, 2)), (9, (3, 2, 4, 1))])
def test_the_smallest_of_a_class_are_chosen_and_of_equal_ones_the_first(most: int, ids: tuple[int, ...]) -> None:
    flagged = [sample(n, size, "LP_NULL") for n, size in ((1, 30), (2, 20), (3, 10), (4, 20), (5, None))]

    choice = choose([*flagged, sample(6, 1)], most)

    assert (choice.samples, choice.failed, choice.gone) == (6, 5, 1)
    (chosen,) = choice.classes
    assert (chosen.count, chosen.kept, chosen.ids) == (5, 4, ids)
    assert choice.ids == tuple(sorted(ids))


def test_different_items_come_before_repeats_of_one() -> None:
    samples = [sample(number, size, "LP_NULL") for number, size in ((1, 1), (2, 2), (3, 3))]
    samples += [replace(one, facts=replace(one.facts, item_key="b")) for one in [sample(4, 9, "LP_NULL")]]

    (chosen,) = choose(samples, 3).classes

    assert chosen.ids == (1, 4, 2)


@given(st.lists(st.tuples(st.none() | st.integers(0, 9), st.sets(st.sampled_from(sorted(OF_QUIRKS)[:4]))), max_size=12))
@settings(max_examples=50)
def test_whatever_fails_every_class_is_counted_and_shown(made: list[tuple[int | None, set[str]]]) -> None:
    samples = [sample(number, size, *quirks) for number, (size, quirks) in enumerate(made, start=1)]

    choice = choose(samples, 2)

    found = {chosen.failing.name: chosen for chosen in choice.classes}
    assert found.keys() == {quirk for _, quirks in made for quirk in quirks}
    for name, chosen in found.items():
        members = [one for one in samples if name in one.facts.quirks]
        sizes = sorted((one.exchange.answers[0].size, one.facts.id) for one in members if one.exchange is not None)
        assert (chosen.count, chosen.kept) == (len(members), len(sizes))
        assert chosen.ids == tuple(sample_id for _, sample_id in sizes[:2])
