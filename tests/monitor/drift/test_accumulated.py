"""Faults too small for one run add up over many, and an unchanged endpoint's runs do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from monitor.drift.accumulated import EPOCH, LOOKS, Accumulated
from monitor.drift.rule import Verdict
from monitor.drift.tool_assess import assess_tools
from probes.quirks import Quirk
from probes.tools.case import Category
from probes.tools.scored import Scored
from tests.monitor.drift.scored_answers import scored

CASES = 40
CHANCES = np.random.default_rng(0).beta(0.434, 0.453, CASES)
LOUD = {Verdict.SUSPECT, Verdict.DRIFT}


def run(rng: np.random.Generator, chances: np.ndarray = CHANCES, defective: float = 0.0) -> list[Scored]:
    """Four answers to each of 40 cases that leave the call to chance."""
    calls = rng.random((4, CASES)) < chances
    broken = rng.random((4, CASES)) < defective
    return [
        scored(
            f"{case:03}{case:061}",
            category=Category.T3,
            rep=rep,
            called=bool(calls[rep, case]),
            defects=frozenset({Quirk.TC_INDEX_MISSING} if broken[rep, case] else ()),
        )
        for rep in range(4)
        for case in range(CASES)
    ]


def after(runs: int, rng: np.random.Generator, **changed: Any) -> Accumulated:
    """Of an endpoint with ten accepted runs."""
    state = Accumulated.start("run_1", [one for _ in range(10) for one in run(rng)])
    for _ in range(runs):
        state = state.with_run(run(rng, **changed))
    return state


def alone(rng: np.random.Generator, **changed: Any) -> set[Verdict]:
    """What one run says by itself."""
    past = [one for _ in range(10) for one in run(rng)]
    found = assess_tools(run(rng, **changed), past=past, reference=(), no_past="", no_reference="")
    return {finding.verdict for finding in found.drift.values()}


def test_an_unchanged_endpoints_runs_do_not_add_up() -> None:
    rng = np.random.default_rng(1)

    assert not LOUD & {after(8, rng).found.verdict for _ in range(5)}


# A defect in two of a hundred answers; one prompt in ten that no longer calls.
SMALL: list[dict[str, Any]] = [
    {"defective": 0.02},
    {"chances": np.where(np.arange(CASES) % 10 == 0, 0.1 * CHANCES, CHANCES)},
]


@pytest.mark.parametrize("changed", SMALL, ids=["defects", "prompts"])
def test_what_is_too_little_for_one_run_adds_up(changed: dict[str, Any]) -> None:
    rng = np.random.default_rng(2)

    assert Verdict.DRIFT not in alone(rng, **changed)
    assert after(16, rng, **changed).found.verdict is Verdict.DRIFT


def test_a_finding_stands_until_the_next_look() -> None:
    rng = np.random.default_rng(3)
    found = after(8, rng, defective=0.05)
    later = found
    for _ in range(7):
        later = later.with_run(run(rng))

    assert later.found == found.found
    assert later.found.reason.startswith("8 runs since the baseline, conformance: answers that keep to the protocol")
    assert later.with_run(run(rng)).found.reason.startswith("16 runs")


def test_what_was_seen_is_what_all_runs_said() -> None:
    rng = np.random.default_rng(4)
    runs = [run(rng)[: rng.integers(1, 160)] for _ in range(4)]
    state = Accumulated.start("run_1", run(rng))
    for one in runs:
        state = state.with_run(one)

    together = Accumulated.start("run_1", [answer for one in runs for answer in one])
    assert state.after == together.before
    assert state.runs == 4


def test_cases_that_the_baseline_does_not_know_say_nothing() -> None:
    rng = np.random.default_rng(5)
    state = Accumulated.start("run_1", run(rng)[:5])
    for _ in LOOKS:
        state = state.with_run(run(rng, defective=0.5))

    assert state.found.verdict is Verdict.INCONCLUSIVE
    assert state.found.reason.endswith("5 cases in common, and 8 are needed")
    assert max(len(counted) for counted in state.after.values()) == 5


@pytest.mark.soak
def test_an_epoch_of_an_unchanged_endpoint_is_suspected_once_in_a_hundred_at_most() -> None:
    rng = np.random.default_rng(6)
    suspected = []
    for _ in range(40):
        state, seen = after(0, rng), set()
        for _ in range(EPOCH):
            state = state.with_run(run(rng))
            seen.add(state.found.verdict)
        suspected.append(bool(LOUD & seen))

    assert np.mean(suspected) <= 0.01 + 3 * np.sqrt(0.01 * 0.99 / 40)


def test_a_run_that_was_judged_beside_another_one_is_added_to_what_that_one_left() -> None:
    rng = np.random.default_rng(4)
    start, (one, other) = after(0, rng), (run(rng), run(rng))
    first, second = start.with_run(one), start.with_run(other)
    anew = replace(start, since="run_2").with_run(other)
    last, full = replace(start, runs=EPOCH - 1), replace(start, runs=EPOCH)

    assert second.on_top_of(start, other) == second
    assert second.on_top_of(first, other) == first.with_run(other)
    assert anew.on_top_of(first, other) == anew
    # The epoch ended in between, or the next one began.
    assert replace(last, runs=EPOCH).on_top_of(full, other) == full
    assert second.on_top_of(full, other) == second
    assert full.on_top_of(first, other) == first.with_run(other)
