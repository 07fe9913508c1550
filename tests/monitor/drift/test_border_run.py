"""A run's first tokens against those of enrolment."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.border_run import LAWFUL_SHARE, NONE, Border, assess_border, border_p, first_tokens
from monitor.drift.border_scores import BorderInput, BorderInputs, First
from monitor.drift.border_stages import Enrolling
from monitor.drift.evidence import Inapplicable, Scores, Tier
from monitor.drift.observation import Observation
from monitor.drift.rule import Verdict
from probes.border import HOT, Ask
from tests.monitor.drift.first_tokens import first_token

INPUTS = BorderInputs(
    tuple(BorderInput(f"p{place}", (b"a", b"b", b"c"), (58 - place // 3, 40 + place // 3, 2)) for place in range(20))
)


def drawn(rng: np.random.Generator, of: int = 20, others: float = 0.0) -> list[Observation]:
    """As at enrolment, but for a share of other tokens."""
    found = []
    for place in rng.permutation(np.arange(of) % 20):
        shares = np.array(INPUTS.inputs[place].counts) / 100.0
        token = b"abc"[int(rng.choice(3, p=shares))] if rng.random() >= others else ord("z")
        found.append(first_token(f"p{place}", bytes([token])))
    return found


def asked_of(run: list[Observation]) -> list[First]:
    return [First(one.item_key.removeprefix("border-"), one.sampled) for one in run]


def assessed(new: list[Observation], asked: BorderInputs | Enrolling = INPUTS, shares: int = 1) -> Border:
    return assess_border("e", asked, new, shares=shares, tokens=30)


@pytest.mark.parametrize(("others", "lawful"), [(0.0, 0.0), (0.0, LAWFUL_SHARE), (LAWFUL_SHARE, LAWFUL_SHARE)])
def test_a_lawful_share_of_others_is_found_no_more_often_than_p_says(others: float, lawful: float) -> None:
    runs = [drawn(np.random.default_rng(seed), others=others) for seed in range(400)]
    p = np.array([border_p(INPUTS, asked_of(run), lawful) for run in runs])

    for level in (0.01, 0.05, 0.2):
        assert (p <= level).mean() <= level + 2 * np.sqrt(level * (1 - level) / len(p))


@pytest.mark.parametrize(
    ("others", "verdict"), [(0.0, Verdict.INCONCLUSIVE), (0.2, Verdict.INCONCLUSIVE), (1.0, Verdict.DRIFT)]
)
def test_a_run_proves_a_gross_change_alone(others: float, verdict: Verdict) -> None:
    """Of days that differ a fifth of other tokens is lawful."""
    found = {assessed(drawn(np.random.default_rng(seed), others=others)).finding.verdict for seed in range(25)}

    assert found == {verdict}


def test_a_day_of_many_other_tokens_is_no_drift_by_itself() -> None:
    run = drawn(np.random.default_rng(0), of=400, others=0.25)
    found = assessed(run).finding

    assert border_p(INPUTS, asked_of(run), lawful=0.0) < 1e-4
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.value is not None
    assert 0.0 < found.value < LAWFUL_SHARE


def test_each_probe_of_the_check_pays_for_the_others() -> None:
    one, many = (assessed(drawn(np.random.default_rng(1)), shares=shares).finding for shares in (1, 5))

    assert one.p == many.p
    assert many.adjusted_p == min(1.0, 5 * (one.adjusted_p or 0.0))


@settings(max_examples=40)
@given(st.lists(st.sampled_from([b"a", b"b", b"d"]), min_size=1, max_size=3), st.integers(1, 4), st.integers(0, 3))
def test_p_is_the_share_of_the_ways_to_deal_the_answers(now: list[bytes], first: int, second: int) -> None:
    counts = sorted((first, second), reverse=True)
    kept = [(token, count) for token, count in zip((b"a", b"b"), counts, strict=True) if count]
    asked = BorderInputs((BorderInput("p", tuple(token for token, _ in kept), tuple(count for _, count in kept)),))

    p = border_p(asked, [First("p", token) for token in now], lawful=0.0)

    pooled = [*now, *(token for token, count in kept for _ in range(count))]
    most = max(map(pooled.count, pooled))
    scores = [round(200 * (1 - pooled.count(token) / most)) for token in pooled]
    ways = [sum(scores[place] for place in chosen) for chosen in combinations(range(len(pooled)), len(now))]
    assert p == pytest.approx(np.mean(np.array(ways) >= sum(scores[: len(now)])))


def test_a_stream_is_told_the_scores_of_its_own_border_inputs() -> None:
    found = assessed([*drawn(np.random.default_rng(2)), first_token("p3", None, rep=7)])

    (told,) = found.evidence
    assert (told.stream.tier, told.stream.probe_set, told.tokens, told.n) == (Tier.BORDER, INPUTS.probe_set, 30, 20)
    assert isinstance(told.says, Scores)
    assert told.reasons == ("1 of 21 answers had no first token",)
    assert found.inputs == INPUTS
    other = BorderInputs(INPUTS.inputs[:10])
    assert other.probe_set != INPUTS.probe_set == BorderInputs.from_json(INPUTS.to_json()).probe_set


def test_while_border_inputs_are_looked_for_nothing_is_told() -> None:
    found = assessed(
        [first_token("p", b"a")], Enrolling("finding border inputs, screening: 1 of 900 answers", (Ask("q", 3),))
    )

    assert (found.finding.verdict, found.evidence, found.inputs) == (Verdict.INCONCLUSIVE, (), None)
    assert found.finding.reason == "finding border inputs, screening: 1 of 900 answers"


def test_an_endpoint_without_border_inputs_is_inapplicable() -> None:
    found = assessed([], Enrolling("why", found=Inapplicable("why")))

    (told,) = found.evidence
    assert (found.finding.verdict, found.finding.reason) == (Verdict.INAPPLICABLE, "why")
    assert (told.stream.probe_set, told.says) == (NONE, Inapplicable("why"))


@pytest.mark.parametrize(
    ("new", "verdict"), [([], Verdict.INCONCLUSIVE), ([first_token("p1", None)], Verdict.INAPPLICABLE)]
)
def test_without_a_first_token_nothing_is_found(new: list[Observation], verdict: Verdict) -> None:
    assert assessed(new).finding.verdict is verdict


def test_answers_are_counted_in_their_order_and_those_of_a_cache_once() -> None:
    given_ = [
        first_token("p", b"a", answer="1"),
        first_token("p", b"b", rep=1, answer="2"),
        first_token("p", b"a", rep=2, answer="1"),
        first_token("q", None, answer="3"),
        first_token("q", b"c", mark=HOT, answer="4"),
    ]

    found = first_tokens(given_)

    assert found.cold == {"p": [b"a", b"b"], "q": [None]}
    assert found.hot == {"q": [b"c"]}
