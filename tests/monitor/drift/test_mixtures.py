from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.simulated.fleets import Backends, Lawful
from monitor.drift.evidence import Inapplicable
from monitor.drift.mixtures import Answers, Mixture, mixture

NOISE = 0.03


def asked(
    chances: Sequence[float], count: int = 100, shift: float = 0.071, lawful: Lawful | None = None, seed: int = 0
) -> tuple[dict[str, Answers], dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    backends = Backends.of(rng, len(chances), shift)
    return backends.asked(rng, lawful or Lawful(NOISE), chances, count)


def found(answers: Mapping[str, Answers], noise: float = NOISE) -> Mixture:
    one = mixture(answers, noise)
    assert isinstance(one, Mixture)
    return one


@pytest.mark.parametrize("chances", [[0.5, 0.5], [0.7, 0.3], [0.9, 0.1]])
def test_two_stacks_are_found_with_their_shares_and_their_answers(chances: list[float]) -> None:
    answers, truth = asked(chances)
    one = found(answers)
    assert len(one.stacks) == 2
    assert one.e >= 100.0
    least = one.stacks[1]
    assert least.interval.low <= chances[1] <= least.interval.high
    counted = np.mean([stack.mean() for name, stack in truth.items() if name not in one.unlinked])
    assert least.share == pytest.approx(min(counted, 1.0 - counted), abs=0.03)
    assert least.gap == pytest.approx(0.071, rel=0.15)
    for name in set(truth) - set(one.unlinked):
        own = np.argmax(one.of[name], axis=1) == truth[name]
        assert max(own.mean(), 1.0 - own.mean() if chances[1] == 0.5 else 0.0) > 0.97


def test_one_stack_is_one() -> None:
    one = found(asked([1.0], lawful=Lawful(NOISE, tails=3.0, daily=0.03))[0])
    assert [stack.share for stack in one.stacks] == [1.0]
    assert one.visits == 300
    assert str(one) == "one stack explains 300 visits"


def test_three_stacks_are_three() -> None:
    one = found(asked([0.5, 0.3, 0.2], 200)[0])
    assert [stack.share for stack in one.stacks] == pytest.approx([0.5, 0.3, 0.2], abs=0.06)
    assert "three stacks" in str(one)


def test_kinds_of_answers_nearer_than_is_lawful_are_one_stack() -> None:
    answers, _ = asked([0.6, 0.4], shift=0.02, lawful=Lawful(0.004))
    one = found(answers, 0.004)
    assert one.e >= 100.0
    assert len(one.stacks) == 1
    apart = mixture(answers, 0.004, lawful_gap=0.01)
    assert isinstance(apart, Mixture)
    assert len(apart.stacks) == 2


def test_the_enrolled_noise_makes_one_of_what_lies_within_it() -> None:
    answers, _ = asked([0.6, 0.4], shift=0.071)
    assert len(found(answers, 0.03).stacks) == 2
    assert len(found(answers, 1.0).stacks) == 1


def test_tokens_that_one_stack_does_not_return_are_left_out() -> None:
    answers, truth = asked([0.7, 0.3])
    cut = {}
    for name, one in answers.items():
        values = one.values.copy()
        values[np.flatnonzero(truth[name] == 1)[:, np.newaxis], np.arange(8, 20)] = np.nan
        cut[name] = replace(one, values=values)
    one = found(cut)
    assert one.unlinked == ()
    assert one.stacks[1].share == pytest.approx(np.mean(list(truth.values())), abs=0.02)


def test_the_order_of_prompts_tokens_and_visits_changes_nothing() -> None:
    answers, _ = asked([0.7, 0.3])
    one = found(answers)
    order = np.random.default_rng(0).permutation(20)
    turned = {
        name: replace(answers[name], values=answers[name].values[:, order], visit=10_000 - answers[name].visit)
        for name in reversed(answers)
    }
    other = found(turned)
    assert [s.share for s in other.stacks] == pytest.approx([s.share for s in one.stacks], abs=1e-6)
    assert other.e == pytest.approx(one.e, rel=1e-6)


def test_the_same_answers_give_the_same_result() -> None:
    answers, _ = asked([0.7, 0.3], 40)
    assert found(answers).stacks == found(answers).stacks


def test_too_few_answers_are_inapplicable() -> None:
    answers, _ = asked([0.7, 0.3], 14)
    few = {name: one.of(np.arange(14) < 7) for name, one in answers.items()}
    one = mixture(few, NOISE)
    assert isinstance(one, Inapplicable)
    assert "8 answers" in one.reason
    assert isinstance(mixture({}, NOISE), Inapplicable)


def test_a_prompt_with_too_few_answers_is_left_out() -> None:
    answers, _ = asked([0.7, 0.3])
    answers["prompt 2"] = answers["prompt 2"].of(np.arange(100) < 7)
    assert sorted(found(answers).of) == ["prompt 0", "prompt 1"]


def test_what_is_no_input_is_refused_with_the_value() -> None:
    answers, _ = asked([1.0], 20)
    with pytest.raises(ValueError, match=r"-0\.1"):
        mixture(answers, -0.1)
    with pytest.raises(ValueError, match="alpha"):
        mixture(answers, NOISE, alpha=1.0)
    one = answers["prompt 0"]
    with pytest.raises(ValueError, match=r"\(20, 20\)"):
        Answers(one.values, one.block[:3], one.visit)
    with pytest.raises(ValueError, match="sentinels"):
        Answers(np.full((2, 3), -np.inf), np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64))


def test_it_says_how_many_and_how_much() -> None:
    said = str(found(asked([0.7, 0.3])[0]))
    assert said.startswith("two stacks up to 0.07 nat apart: ")
    assert said.endswith(" of 300 visits")
