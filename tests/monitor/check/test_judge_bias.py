"""What a run of a suite says of the judge of its answers."""

from __future__ import annotations

from monitor.check.evals import EvalAnswers, not_compared, rate_values
from monitor.render.rates import main_rates
from probes.evals.judge import Anchor, Opinion, bias_of

RIGHT, WRONG = (Anchor("q", "e", "a", right, own=False) for right in (True, False))
YES, NO, TORN = Opinion(0.9, 0.9), Opinion(0.1, 0.1), Opinion(0.9, 0.1)


def test_a_judges_worth_stands_beside_what_it_graded() -> None:
    bias = bias_of([(RIGHT, YES), (RIGHT, TORN), (WRONG, YES), (WRONG, NO), (WRONG, NO)])

    values = rate_values(EvalAnswers((), (), not_compared("no reference that answers"), bias), {})

    named = {one.name: (one.numerator, one.denominator, one.excluded) for one in values}
    assert named["judge.agreed"] == (3, 4, {"judge_undecided": 1})
    assert named["judge.wrong_called_right"] == (1, 3, {})
    assert [one.name for one in main_rates(values)] == ["accuracy", "judge.agreed", "judge.wrong_called_right"]


def test_where_nobody_judged_nothing_is_said_of_a_judge() -> None:
    for bias in (None, bias_of([])):
        values = rate_values(EvalAnswers((), (), not_compared("no reference that answers"), bias), {})
        assert [one.name for one in values] == ["accuracy"]
