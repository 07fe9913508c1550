"""T1 of prompts that are asked once: a score of their distance to the reference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.drift.decision import DRIFT_AT
from monitor.drift.evidence import Scores, Tier
from monitor.drift.levels import DAY
from monitor.drift.observation import Observation
from monitor.drift.score_stream import Round, ScoreStream, StreamRule
from monitor.drift.single_use import FEWEST, NAME, REACH, single_use_evidence

TOKENS = tuple(f"token {number}".encode() for number in range(20))


def answer(number: int, moved: float, rng: np.random.Generator, *, anchor: bool = False) -> Observation:
    """`moved`: the mean |Δ| in nats from what the reference expects of a prompt of its own."""
    expected = np.sort(rng.normal(-4.0, 1.5, 20))[::-1] - 2.0
    off = rng.standard_normal(20)
    return Observation(
        item_key=f"single-{number}",
        rep=0,
        anchor=anchor,
        tokens=TOKENS,
        logprobs=expected + moved * off / np.abs(off).mean(),
        sampled=TOKENS[0],
        reference_tokens=TOKENS,
        expected={"fp32": expected},
        prompt_tokens=12,
        expected_prompt_tokens=12,
        response_id=None,
    )


def scores(answers: list[Observation]) -> tuple[float, ...]:
    found = single_use_evidence("endpoint", "fp32", answers)
    assert found is not None
    assert (found.stream.tier, found.stream.probe_set) == (Tier.LOGPROBS, NAME)
    assert isinstance(found.says, Scores)
    assert found.n == len(found.says.scores)
    return found.says.scores


@given(st.floats(0.0, 0.6), st.integers(FEWEST, 12))
def test_an_answer_scores_its_distance(moved: float, count: int) -> None:
    rng = np.random.default_rng(count)
    found = scores([answer(number, moved, rng) for number in range(count)])
    assert found == pytest.approx([min(1.0, moved / REACH)] * count, abs=1e-9)


def test_anchors_and_answers_that_cannot_be_compared_say_nothing() -> None:
    rng = np.random.default_rng(1)
    singles = [answer(number, 0.05, rng) for number in range(FEWEST)]
    beside = [
        answer(9, 0.3, rng, anchor=True),
        replace(answer(10, 0.3, rng), tokens=(), logprobs=np.array([])),
        replace(answer(11, 0.3, rng), expected={}),
    ]
    assert len(scores([*singles, *beside])) == FEWEST
    assert single_use_evidence("endpoint", "fp32", [*singles[1:], *beside]) is None


def test_int8_is_proven_within_days_and_what_is_lawful_never() -> None:
    """Kernels of bf16 are off by 0.045 nat, and int8 by 0.071 more; prompts differ by a third."""
    rng = np.random.default_rng(2)

    def rounds(first: int, days: int, moved: float) -> list[Round]:
        means = [
            np.mean(scores([answer(n, moved * rng.lognormal(0.0, 0.3), rng) for n in range(8)]))
            for _ in range(24 * days)
        ]
        return [Round((first + hour / 24.0) * DAY, float(mean)) for hour, mean in enumerate(means)]

    before = rounds(20_000, 14, 0.045)
    for moved, proven in ((0.045, False), (float(np.hypot(0.045, 0.071)), True)):
        stream = ScoreStream.with_baseline(StreamRule(), before, 20_014 * DAY)
        assert stream.bets is not None
        values = []
        for one in rounds(20_014, 4, moved):
            stream = stream.after(one)
            values.append(stream.value)
        assert (max(values) >= DRIFT_AT) == proven
