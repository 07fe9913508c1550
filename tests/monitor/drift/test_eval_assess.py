"""Verdicts on private evals: item by item, against the endpoint's own past and against its reference."""

from __future__ import annotations

import pytest

from monitor.drift.eval_assess import LEAST_ITEMS, assess_evals
from monitor.drift.findings import Finding
from monitor.drift.paired_items import Marks
from monitor.drift.rule import Verdict

NO_PAST, NO_REFERENCE = Finding(Verdict.INCONCLUSIVE, "enrolled"), Finding(Verdict.INAPPLICABLE, "none")


def marks(items: int, right: int, *, since: int = 0) -> Marks:
    return {f"{item:04}": [item - since < right] for item in range(since, since + items)}


def drift(now: Marks, *past: Marks) -> Finding:
    return assess_evals(now, past=past, reference={}, no_past=NO_PAST, no_reference=NO_REFERENCE).drift


@pytest.mark.parametrize(
    ("now", "past", "verdict"),
    [
        (marks(400, 300), marks(400, 300), Verdict.OK),
        (marks(400, 240), marks(400, 300), Verdict.DRIFT),
        (marks(400, 360), marks(400, 300), Verdict.DRIFT),
        (marks(400, 289), marks(400, 300), Verdict.INCONCLUSIVE),
        (marks(60, 45), marks(60, 60), Verdict.DRIFT),
        (marks(60, 50), marks(60, 60), Verdict.SUSPECT),
        (marks(20, 20), marks(20, 20), Verdict.INCONCLUSIVE),
    ],
)
def test_more_wrong_or_more_right_than_before_is_drift_beyond_the_margin(
    now: Marks, past: Marks, verdict: Verdict
) -> None:
    found = drift(now, past)
    assert found.verdict is verdict
    assert found.n == len(now)


def test_items_that_changed_places_are_no_drift() -> None:
    past = marks(2000, 1000)
    now = {item: [not right] if number % 100 == 0 else [right] for number, (item, (right,)) in enumerate(past.items())}
    assert drift(now, past).verdict is Verdict.OK


def test_every_accepted_run_counts() -> None:
    """Eleven of 400 answers in the first run were luck, of which the four after it know nothing."""
    lucky, usual = marks(400, 311), marks(400, 300)

    assert drift(usual, lucky).value == pytest.approx(-11 / 400)
    assert drift(usual, lucky, *[usual] * 4).value == pytest.approx(-11 / 400 / 5)
    few = marks(60, 53)
    assert drift(few, marks(60, 60)).verdict is Verdict.INCONCLUSIVE
    assert drift(few, *[marks(60, 60)] * 5).verdict is Verdict.DRIFT


def test_what_differs_from_past_and_reference_pays_for_both_questions() -> None:
    now, past, reference = marks(60, 50), marks(60, 60), marks(60, 60)
    alone = drift(now, past)
    both = assess_evals(now, past=[past], reference=reference, no_past=NO_PAST, no_reference=NO_REFERENCE)

    assert alone.adjusted_p is not None
    assert both.drift.adjusted_p == pytest.approx(2 * alone.adjusted_p)
    assert both.fidelity.adjusted_p == pytest.approx(2 * alone.adjusted_p)


def test_the_distance_to_the_reference_is_never_drift() -> None:
    found = assess_evals(marks(60, 30), past=(), reference=marks(60, 60), no_past=NO_PAST, no_reference=NO_REFERENCE)
    assert found.drift is NO_PAST
    assert (found.fidelity.verdict, found.fidelity.value) == (Verdict.SUSPECT, -0.5)


def test_a_suite_of_other_items_says_nothing() -> None:
    found = drift(marks(60, 30), marks(60, 60, since=60 - LEAST_ITEMS + 1))
    assert (found.verdict, found.n) == (Verdict.INCONCLUSIVE, LEAST_ITEMS - 1)
    assert found.reason == "7 items in common, and 8 are needed"
