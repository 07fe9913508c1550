from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.arguments import PromptArguments, arguments_test
from monitor.drift.trigger import Paired, gap, prompt_test

answers = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")), min_size=1, max_size=4).map(tuple)


def squared_distance(x: list[tuple[str, str]], y: list[tuple[str, str]]) -> float:
    def likeness(one: list[tuple[str, str]], other: list[tuple[str, str]]) -> float:
        return float(np.mean([[np.mean([a == b for a, b in zip(p, q, strict=True)]) for q in other] for p in one]))

    return likeness(x, x) + likeness(y, y) - 2 * likeness(x, y)


@settings(max_examples=40, deadline=None)
@given(answers, answers)
def test_of_one_prompt_every_relabelling_is_counted(
    x: tuple[tuple[str, str], ...], y: tuple[tuple[str, str], ...]
) -> None:
    pooled, size = [*x, *y], len(x)
    distances = []
    for chosen in combinations(range(len(pooled)), size):
        rest = [pooled[i] for i in range(len(pooled)) if i not in chosen]
        distances.append(squared_distance([pooled[i] for i in chosen], rest))
    # Distances of so few answers that differ at all differ by more than the lattice's step.
    expected = np.mean(np.array(distances) >= distances[0] - 1e-9)
    found = arguments_test([PromptArguments(x, y)])
    assert found is not None
    assert found.p == pytest.approx(float(expected), abs=1e-9)


def test_two_kinds_of_answer_are_the_trigger_test() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 0.5, 30)
    paired = Paired.of(rng.binomial(8, p), 8, rng.binomial(8, np.where(p < 0.2, 0.6, p)), 8)
    found = arguments_test(
        [
            PromptArguments((("yes",),) * x + (("no",),) * (8 - x), (("yes",),) * y + (("no",),) * (8 - y))
            for x, y in zip(paired.x.tolist(), paired.y.tolist(), strict=True)
        ]
    )
    assert found is not None
    assert found.p == pytest.approx(prompt_test(paired), rel=1e-6)
    assert found.distance == pytest.approx(2 * gap(paired) / 30)


def drawn(rng: np.random.Generator, r: int, changed: bool = False) -> PromptArguments:
    values = rng.dirichlet(np.ones(12) * 0.3)
    other = rng.permutation(values) if changed else values
    endpoint = rng.choice(12, size=rng.integers(1, r + 1), p=other)
    reference = rng.choice(12, size=rng.integers(1, r + 1), p=values)
    return PromptArguments(tuple((str(v),) for v in endpoint), tuple((str(v),) for v in reference))


def test_unchanged_arguments_are_called_no_more_often_than_said() -> None:
    rng = np.random.default_rng(0)
    tests = [arguments_test([drawn(rng, 8) for _ in range(12)]) for _ in range(120)]
    called = [test is not None and test.p <= 0.1 for test in tests]
    assert np.mean(called) <= 0.1 + 3 * np.sqrt(0.09 / 120)


def test_changed_arguments_are_found_and_many_answers_are_dealt_at_random() -> None:
    rng = np.random.default_rng(0)
    found = arguments_test([drawn(rng, 16, changed=True) for _ in range(12)])
    assert found is not None
    assert found.p <= 1e-4
    assert found.distance is not None
    assert found.distance > 0.1
    different = tuple((str(i),) for i in range(40))
    alone = arguments_test([PromptArguments(different[:20], different[20:])])
    assert alone is not None
    assert alone.p == pytest.approx(1.0)


def test_a_prompt_without_calls_on_one_side_is_not_compared() -> None:
    assert arguments_test([PromptArguments((), (("a",),))]) is None
    found = arguments_test([PromptArguments((), (("a",),)), PromptArguments((("a",),), (("a",),))])
    assert found is not None
    assert (found.prompts, found.distance) == (1, None)
