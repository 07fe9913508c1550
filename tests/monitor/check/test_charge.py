"""What a request may have cost is never less than what was paid for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.check.charge import charge_of, charge_of_unanswered
from monitor.usage import Tokens
from probes.completion import Completion, Usage
from probes.plan import Attempt, Item, Outcome, Sample
from probes.quirks import Disposition
from tests.monitor.store.material import AT

ITEM = Item("a", 0, {"max_tokens": 1})
SIZES = {("a", 0): Tokens(50, 1)}
SIZE = SIZES["a", 0]


def attempt(status: int | None) -> Attempt:
    return Attempt(status, {}, b"", AT, 0.1)


def answered(usage: Usage | None, *statuses: int | None) -> Sample:
    completion = Completion(Disposition.NORMALISE, (), 200, usage=usage)
    return Sample(ITEM, Outcome.OK, completion, tuple(map(attempt, statuses or (200,))))


@pytest.mark.parametrize(
    ("usage", "charge"),
    [
        (Usage(70, 3), Tokens(70, 3)),
        (Usage(70, 0), Tokens(70, 0)),
        (None, SIZE),
        (Usage(), SIZE),
        (Usage(0, 0), Tokens(50, 0)),
        (Usage(-5, 10**30), SIZE),
        (Usage(2**31, 7), Tokens(50, 7)),
    ],
)
def test_what_no_usage_tells_is_charged_as_it_was_planned(usage: Usage | None, charge: Tokens) -> None:
    assert charge_of([answered(usage)], SIZES) == charge


@pytest.mark.parametrize(
    ("outcome", "status", "charge"),
    [
        (Outcome.HTTP_ERROR, 500, Tokens()),
        (Outcome.RATE_LIMITED, 429, Tokens()),
        (Outcome.HTTP_ERROR, None, Tokens()),  # nobody was there
        (Outcome.HTTP_ERROR, 200, SIZE),  # broken off
        (Outcome.TIMEOUT, None, SIZE),
    ],
)
def test_what_was_refused_costs_nothing_and_what_was_cut_off_does(
    outcome: Outcome, status: int | None, charge: Tokens
) -> None:
    assert charge_of([Sample(ITEM, outcome, None, (attempt(status),))], SIZES) == charge


def test_an_answer_that_broke_off_before_the_last_try_is_charged_as_well() -> None:
    assert charge_of([answered(Usage(70, 3), 429, 200, 200)], SIZES) == Tokens(70, 3) + SIZE


def test_the_limit_that_was_sent_counts_where_it_is_above_the_planned_one() -> None:
    sample = replace(answered(None), request={"max_completion_tokens": 16})

    assert charge_of([sample], SIZES) == Tokens(50, 16)


def test_what_was_on_its_way_is_charged() -> None:
    assert charge_of_unanswered([ITEM, ITEM], SIZES) == SIZE + SIZE


def test_a_turn_that_nobody_foresaw_is_charged_by_its_own_request() -> None:
    turn = Item("a-turn-9", 0, {"messages": [{"role": "user", "content": "x" * 4_000}], "max_tokens": 8})

    charge = charge_of_unanswered([turn], SIZES)

    assert 1_000 <= charge.prompt <= 1_100
    assert charge.completion == 8
