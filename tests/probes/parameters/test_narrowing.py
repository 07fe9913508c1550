"""How often the judge of sampling parameters is wrong: exactly, over all that an endpoint can answer."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.completion import Completion
from probes.parameters.judgement import ALPHA_ACTS, ALPHA_IGNORED, Effect, Judgement
from probes.parameters.narrowing import FREE_AGREES, HELD_AGREES, at_least, judge_narrowing, judge_temperature
from probes.parameters.rules import is_repetition
from probes.parameters.trial import Arm
from probes.plan import Item, Outcome, Sample
from probes.quirks import Disposition


def arm(pairs: int, agreeing: int) -> Arm:
    return Arm({place: twins(place, alike=place < agreeing) for place in range(pairs)})


def twins(place: int, *, alike: bool) -> list[Sample]:
    texts = ("one", "one" if alike else "other")
    return [said(text, f"{place}-{number}") for number, text in enumerate(texts)]


def said(text: str, answer_id: str) -> Sample:
    return Sample(Item("", 0, {}), Outcome.OK, Completion(Disposition.ACCEPT, (), 200, content=text, id=answer_id), ())


def chance(n: int, k: int, p: float) -> float:
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


def outcomes(n: int) -> list[tuple[int, int]]:
    return [(held, free) for held in range(n + 1) for free in range(n + 1)]


def of(parameter: str, n: int, held: int, free: int) -> Judgement:
    if parameter == "temperature":
        return judge_temperature(arm(n, free), arm(n, held))
    return judge_narrowing(parameter, arm(n, free), arm(n, held))


@pytest.mark.parametrize("parameter", ["temperature", "seed"])
@pytest.mark.parametrize("n", [1, 4, 5, 6, 9, 12])
def test_a_lawful_endpoint_is_hardly_ever_said_to_ignore_it(parameter: str, n: int) -> None:
    ignoring = [pair for pair in outcomes(n) if of(parameter, n, *pair).effect is Effect.IGNORED]

    # The worst of the lawful: its held answers agree as seldom, its free ones as often, as is granted.
    for held_agrees in (HELD_AGREES, 0.9, 1.0):
        for free_agrees in (0.0, 0.1, FREE_AGREES):
            wrong = math.fsum(chance(n, held, held_agrees) * chance(n, free, free_agrees) for held, free in ignoring)
            assert wrong <= ALPHA_IGNORED


@pytest.mark.parametrize("parameter", ["temperature", "seed"])
@pytest.mark.parametrize("n", [4, 5, 6, 9, 12])
def test_an_endpoint_that_ignores_it_is_hardly_ever_acquitted(parameter: str, n: int) -> None:
    acting = [pair for pair in outcomes(n) if of(parameter, n, *pair).effect is Effect.ACTS]

    for agrees in (0.0, 0.05, 0.2, 0.5, 0.8, 1.0):
        wrong = math.fsum(chance(n, held, agrees) * chance(n, free, agrees) for held, free in acting)
        assert wrong <= ALPHA_ACTS


def test_the_usual_number_of_pairs_finds_the_usual_endpoints() -> None:
    assert of("seed", 6, held=6, free=0).effect is Effect.ACTS
    assert of("seed", 6, held=5, free=0).effect is Effect.ACTS
    assert of("seed", 6, held=0, free=0).effect is Effect.IGNORED
    assert of("temperature", 6, held=6, free=6).effect is Effect.IGNORED
    assert of("seed", 6, held=6, free=6).effect is Effect.UNCLEAR
    assert of("seed", 6, held=2, free=0).effect is Effect.UNCLEAR


def test_a_pair_without_one_of_its_answers_is_left_out() -> None:
    held = arm(6, 6)
    held.samples[0].pop()
    held.samples[1][0] = Sample(Item("", 0, {}), Outcome.TIMEOUT, None, ())
    held.samples[2][0] = said("", "silent")

    assert judge_narrowing("seed", arm(6, 0), held).counts == {
        "pairs": 3,
        "held_agree": 3,
        "free_agree": 0,
        "failed": 1,
    }


@given(st.integers(0, 40), st.floats(0, 1), st.integers(-1, 41))
def test_the_tail_is_that_of_the_binomial(n: int, p: float, least: int) -> None:
    expected = math.fsum(chance(n, k, p) for k in range(max(0, least), n + 1))

    assert at_least(n, p, least) == pytest.approx(expected, abs=1e-12)


@given(st.text(alphabet="ab c", min_size=1, max_size=9), st.integers(4, 12), st.integers(0, 8))
def test_a_piece_four_times_is_a_repetition_wherever_it_is_cut(piece: str, times: int, cut: int) -> None:
    text = piece * (times + 1)

    assert is_repetition(text[min(cut, len(piece)) :])


@pytest.mark.parametrize("text", ["", "Rain", "Rain fell on the old bridge", "lantern lantern", "a a a b"])
def test_text_is_no_repetition(text: str) -> None:
    assert not is_repetition(text)
