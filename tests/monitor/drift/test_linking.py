from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.linking import Clustered, linked, share_interval, weights

EVIDENCE = {"a": 3.0, "b": 2.0, "c": 1.0}


def clustered(stack: np.ndarray, visit: np.ndarray, clusters: int, sure: float = 20.0) -> Clustered:
    logs = np.zeros((stack.size, clusters))
    logs[np.arange(stack.size), stack] = sure
    return Clustered(logs, visit)


def by_request(rng: np.random.Generator, chances: list[float], answers: int) -> dict[str, Clustered]:
    return {
        name: clustered(
            rng.choice(len(chances), answers, p=chances), place * answers + np.arange(answers), len(chances)
        )
        for place, name in enumerate(EVIDENCE)
    }


@settings(max_examples=20)
@given(st.permutations(range(3)), st.integers(0, 5))
def test_how_a_prompts_clusters_are_numbered_changes_nothing(order: list[int], seed: int) -> None:
    prompts = by_request(np.random.default_rng(seed), [0.6, 0.3, 0.1], 120)
    turned = prompts | {"b": Clustered(prompts["b"].logs[:, order], prompts["b"].visit)}
    one, other = linked(prompts, EVIDENCE), linked(turned, EVIDENCE)
    assert other.shares == pytest.approx(one.shares)
    assert other.of["b"] == pytest.approx(one.of["b"])
    assert [order[c] for c in other.maps["b"]] == list(one.maps["b"])


def test_prompts_of_one_visit_are_linked_where_shares_cannot() -> None:
    rng = np.random.default_rng(0)
    stack, visit = rng.integers(0, 2, 60), np.arange(60)
    prompts = {"a": clustered(stack, visit, 2), "b": clustered(1 - stack, visit, 2), "c": clustered(stack, visit, 2)}
    found = linked(prompts, EVIDENCE)
    assert found.unlinked == ()
    assert found.visits == 60
    assert np.array_equal(found.of["a"], found.of["b"])


def test_equal_shares_without_visits_are_told_as_unlinked_and_counted_once() -> None:
    stack = np.arange(60) % 2
    prompts = {name: clustered(stack, place * 60 + np.arange(60), 2) for place, name in enumerate(EVIDENCE)}
    found = linked(prompts, EVIDENCE)
    assert found.unlinked == ("b", "c")
    assert found.visits == 60
    assert found.shares == pytest.approx([0.5, 0.5])


def test_a_prompt_that_shows_fewer_clusters_holds_two_stacks_in_one() -> None:
    rng = np.random.default_rng(1)
    prompts = by_request(rng, [0.6, 0.3, 0.1], 200)
    stack = rng.choice(3, 200, p=[0.6, 0.3, 0.1])
    prompts["c"] = clustered((stack != 0).astype(np.int64), 600 + np.arange(200), 2)
    found = linked(prompts, EVIDENCE)
    assert found.maps["c"] == (0, 1, 1)
    assert found.shares == pytest.approx([0.6, 0.3, 0.1], abs=0.06)


def test_answers_that_might_be_of_either_stack_widen_the_interval() -> None:
    stack = np.array([0] * 70 + [1] * 30)
    clear, vague = (clustered(stack, np.arange(100), 2, sure).logs for sure in (20.0, 1.0))
    one, other = (share_interval(logs, weights(logs), 1) for logs in (clear, vague))
    assert one.high - one.low < other.high - other.low
    assert one.low < 0.3 < one.high


def test_weights_are_the_shares_of_what_is_clear() -> None:
    logs = clustered(np.array([0] * 3 + [1] * 1), np.arange(4), 2).logs
    assert weights(logs) == pytest.approx([0.75, 0.25], abs=1e-6)
    assert share_interval(logs[:, :1], np.ones(1), 0).high == 1.0
