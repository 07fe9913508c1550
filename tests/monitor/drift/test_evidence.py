from __future__ import annotations

import pytest

from monitor.drift.evidence import (
    Combining,
    Evidence,
    ExactP,
    Factors,
    Inapplicable,
    Null,
    Scores,
    StreamKey,
    Tier,
    of_finding,
    round_factor,
)
from monitor.drift.findings import Finding
from monitor.drift.rule import Verdict

TOOLS = StreamKey("e1", Tier.CAPABILITY, "tools-1")


def test_a_finding_of_a_run_is_evidence_to_be_averaged() -> None:
    found = of_finding(TOOLS, 60.0, Finding(Verdict.OK, p=0.2, adjusted_p=0.4, n=12), tokens=700)
    assert found == Evidence(TOOLS, 60.0, ExactP(0.2, Null.EXCHANGEABLE, Combining.AVERAGE), 12, 700)


def test_what_has_no_p_is_no_evidence_and_what_cannot_be_is_said() -> None:
    assert of_finding(TOOLS, 60.0, Finding(Verdict.INCONCLUSIVE, "no baseline"), 0) is None
    found = of_finding(TOOLS, 60.0, Finding(Verdict.INAPPLICABLE, "no tools"), 0)
    assert found is not None
    assert found.says == Inapplicable("no tools")


@pytest.mark.parametrize("scores", [(), (1.01,), (-0.01,), (float("nan"),)])
def test_scores_outside_of_their_range_are_refused(scores: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="scores"):
        Scores(scores)


def test_scores_say_under_what_null_they_are_bet_on() -> None:
    scores = Scores((0.2, 0.4))
    assert scores.mean == pytest.approx(0.3)
    assert (scores.null, scores.combining) == (Null.LAWFUL_MEAN, Combining.MULTIPLY)


def test_impossible_factors_and_p_values_are_refused() -> None:
    with pytest.raises(ValueError, match="factors"):
        Factors((-1.0,), Null.REFERENCE, Combining.MULTIPLY)
    with pytest.raises(ValueError, match="exact p"):
        ExactP(0.0, Null.REFERENCE, Combining.MULTIPLY)


def test_factors_of_a_round_multiply_or_average() -> None:
    assert round_factor((2.0, 3.0), Combining.MULTIPLY) == 6.0
    assert round_factor((2.0, 4.0), Combining.AVERAGE) == 3.0
    assert round_factor((2.0, 4.0), Combining.EACH) == 3.0
