"""Counts of prompt tokens where the endpoint's tokenizer is not the reference's, so that each prompt differs by its own
number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from monitor.drift.accounting import CountTest, count_test
from monitor.drift.observation import Observation

ANCHORS, SINGLES, RUNS = 10, 20, 5


def run(
    rng: np.random.Generator, *, anchors: int = ANCHORS, singles: int = SINGLES, more: int = 0
) -> list[Observation]:
    """Each anchor twice, and prompts that are asked once; `more` is added to every count."""
    repeated = [counted(f"anchor-{place}", rep, place, more) for rep in range(2) for place in range(anchors)]
    return repeated + [counted(f"single-{place}", 0, int(rng.integers(1 << 40)), more) for place in range(singles)]


def counted(key: str, rep: int, prompt: int, more: int) -> Observation:
    own = int(np.random.default_rng(prompt).poisson(3.0))
    return Observation(
        key, rep, key.startswith("anchor"), (), np.empty(0), None, (), {}, 50 + own + more, 50, response_id=None
    )


def compared(now: list[Observation], past: list[Observation]) -> CountTest:
    found = count_test(past, now, count=2_000)
    assert found is not None
    return found


@pytest.mark.parametrize("anchors", [0, ANCHORS])
def test_counts_that_differ_by_the_prompt_are_seldom_called_moved(anchors: int) -> None:
    """Of an unchanged endpoint: the repeats of ten anchors in five runs are no hundred draws of prompts."""
    rng = np.random.default_rng(7)

    found = [
        compared(run(rng, anchors=anchors, singles=40), [one for _ in range(RUNS) for one in run(rng)]).p
        for _ in range(120)
    ]

    assert sum(p is not None and p <= 0.05 for p in found) <= 12
    assert sum(p is not None and p <= 0.01 for p in found) <= 4


@pytest.mark.parametrize("anchors", [0, ANCHORS])
def test_counts_that_all_moved_are_found_though_each_prompt_has_its_own(anchors: int) -> None:
    rng = np.random.default_rng(7)

    found = compared(run(rng, anchors=anchors, more=6), [one for _ in range(RUNS) for one in run(rng)])

    assert found.p is not None
    assert found.p < 1e-3
    assert found.moved is not None
    assert found.moved > 2


def test_anchors_alone_tell_by_how_many_tokens_without_a_reference() -> None:
    rng = np.random.default_rng(7)
    past, now = run(rng), run(rng, more=1)
    past, now = ([replace(one, expected_prompt_tokens=None) for one in side] for side in (past, now))

    found = compared(now, past)

    assert (found.offset, found.moved) == (None, 1)
    assert found.p == pytest.approx(2 / 2**ANCHORS, abs=2e-3)


def test_an_anchor_counts_once_a_run() -> None:
    rng = np.random.default_rng(7)
    past, now = run(rng, singles=0), run(rng, singles=0, more=1)

    once, again = (
        compared([*now, *([replace(one, rep=one.rep + 2) for one in now] * more)], past).p for more in (0, 3)
    )

    assert once == again


def test_what_has_no_like_before_is_not_compared() -> None:
    rng = np.random.default_rng(7)

    found = compared(run(rng, anchors=0), run(rng, singles=0))

    assert (found.moved, found.p) == (None, None)
    assert found.offset is not None
