from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.drift.rule import Verdict, holm, judge, roll_up


def test_holm_multiplies_the_smallest_by_all_and_the_largest_by_one() -> None:
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx({"a": 0.03, "c": 0.06, "b": 0.06})


@given(st.dictionaries(st.text(min_size=1, max_size=3), st.floats(1e-9, 1.0), min_size=1, max_size=6))
def test_holm_never_lowers_a_p_value_and_keeps_their_order(p_values: dict[str, float]) -> None:
    adjusted = holm(p_values)
    for name, p in p_values.items():
        assert p <= adjusted[name] <= 1.0
        assert all(adjusted[name] <= adjusted[other] for other in p_values if p_values[other] > p)


@pytest.mark.parametrize(
    ("p", "beyond", "detectable", "verdict"),
    [
        (1e-4, True, 0.05, Verdict.DRIFT),
        (1.01e-4, True, 0.05, Verdict.SUSPECT),
        (1e-2, True, 0.05, Verdict.SUSPECT),
        (1.01e-2, True, 0.05, Verdict.OK),
        (1e-6, False, 0.05, Verdict.OK),
        (0.5, True, 0.08, Verdict.INCONCLUSIVE),
        (0.5, True, float("inf"), Verdict.INCONCLUSIVE),
    ],
)
def test_one_decision_rule(p: float, beyond: bool, detectable: float, verdict: Verdict) -> None:
    assert judge(p, beyond_lawful=beyond, detectable=detectable, target=0.071) is verdict


@given(st.lists(st.sampled_from(list(Verdict))))
def test_roll_up_takes_the_worst_conclusion(verdicts: list[Verdict]) -> None:
    concluded = [v for v in (Verdict.DRIFT, Verdict.SUSPECT, Verdict.OK) if v in verdicts]
    assert roll_up(verdicts) is (concluded[0] if concluded else Verdict.INCONCLUSIVE)
