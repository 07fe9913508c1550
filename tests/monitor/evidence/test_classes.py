"""By which classes an answer to a tool-call case fails."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.evidence.classes import failing_classes, of_cases
from monitor.evidence.wording import OF_FAULTS
from probes.plan import Outcome
from probes.quirks import Quirk
from probes.tools.scored import Exclusion, Fault, Scored
from tests.monitor.drift.scored_answers import scored
from tests.monitor.evidence.test_choice import FACTS


def names(answer: Scored | None, *quirks: Quirk, outcome: Outcome = Outcome.OK) -> list[str]:
    classify = of_cases({} if answer is None else {("a", 0): answer})
    sample = replace(FACTS, outcome=outcome, quirks=tuple(quirk.value for quirk in quirks))
    return [one.name for one in classify(sample)]


def test_a_refusal_fails_unless_the_item_was_sent_for_it() -> None:
    refused = replace(FACTS, outcome=Outcome.REFUSED, error_code="provider_rejected")

    assert [one.name for one in failing_classes(refused)] == ["refused"]
    assert failing_classes(replace(refused, error_code=None)) == ()


def test_every_fault_of_a_case_has_its_words() -> None:
    assert OF_FAULTS.keys() == {fault.value for fault in Fault}


@pytest.mark.parametrize(
    ("answer", "quirks", "outcome", "expected"),
    [
        (scored("a", right=True), [], Outcome.OK, []),
        (scored("a", right=True), [Quirk.TC_ARGS_INVALID_JSON], Outcome.OK, []),
        (scored("a", right=True), [Quirk.TC_ID_DUPLICATE], Outcome.OK, ["TC_ID_DUPLICATE"]),
        (scored("a", right=True), [], Outcome.REFUSED, []),
        (scored("a", excluded=Exclusion.REFUSED), [], Outcome.REFUSED, ["refused"]),
        (
            scored("a", right=False, faults=frozenset({Fault.VALUES, Fault.CALL_EXTRA})),
            [Quirk.TC_ARGS_CONTROL_CHAR],
            Outcome.OK,
            ["call_extra", "values", "TC_ARGS_CONTROL_CHAR"],
        ),
        (None, [Quirk.TC_ARGS_INVALID_JSON], Outcome.OK, ["TC_ARGS_INVALID_JSON"]),
    ],
)
def test_an_answer_fails_by_its_case_and_not_by_what_the_case_wanted(
    answer: Scored | None, quirks: list[Quirk], outcome: Outcome, expected: list[str]
) -> None:
    assert names(answer, *quirks, outcome=outcome) == expected
