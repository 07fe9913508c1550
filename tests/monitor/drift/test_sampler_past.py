"""A sampler against its own enrolment: silent whatever it was, and two ways in which it may move."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from monitor.drift.draws import Cells, Draws
from monitor.drift.evidence import Inapplicable, Scores, StreamKey, Tier
from monitor.drift.observation import FloatArray
from monitor.drift.sampler_past import EnrolledSampler, Moved, enrolled, likeliness, of_past, standardised
from tests.monitor.drift.listed_draws import chances, drawn, falling, listed, tempered

STREAM = StreamKey("e1", Tier.SAMPLING, "draws-1")
WIDE = falling(2.8)


def of_two(first: FloatArray, second: FloatArray, n: int, seed: int) -> Draws:
    """Two prompts of one stated distribution, drawn from these."""
    tokens = np.concatenate([drawn(first, n, seed), drawn(second, n, seed + 10_000)])
    return replace(listed(WIDE, tokens, 20), prompts=np.repeat([7, 8], n))


def scores(moved: Moved) -> tuple[float, float]:
    narrower, wider = (one.says for one in moved)
    assert isinstance(narrower, Scores)
    assert isinstance(wider, Scores)
    return narrower.mean, wider.mean


@given(chances())
@settings(max_examples=40, deadline=None)
def test_likeliness_has_mean_zero_and_its_variance_under_what_is_stated(p: FloatArray) -> None:
    values, variances = likeliness(Cells.of(listed(p, np.arange(len(p)), 5)))
    assert p @ values == pytest.approx(0.0, abs=1e-9)
    assert p @ values**2 == pytest.approx(variances[0])


@pytest.mark.parametrize("default", [1.0, 0.7, 1.3])
def test_what_was_so_at_enrolment_is_silent_whatever_it_was(default: float) -> None:
    """Mean 0, within 4 standard errors. The deviation that is reckoned with is that of draws as stated."""
    p = tempered(WIDE, default)
    before = enrolled(of_two(p, p, 40_000, seed=1))
    z = np.array([standardised(of_two(p, p, 25, seed), before) for seed in range(2, 202)], dtype=np.float64)
    assert abs(z.mean()) <= 4 * z.std() / np.sqrt(len(z))
    assert default != 1.0 or z.std() == pytest.approx(1.0, abs=0.12)


def test_each_way_moves_its_own_stream() -> None:
    before = enrolled(of_two(WIDE, WIDE, 4_000, seed=1))
    colder, hotter = (of_two(tempered(WIDE, at), tempered(WIDE, at), 200, seed=2) for at in (0.7, 1.5))
    narrower, wider = scores(of_past(STREAM, 60.0, colder, before))
    assert narrower > 0.7
    assert wider == 0.0
    narrower, wider = scores(of_past(STREAM, 60.0, hotter, before))
    assert narrower == 0.0
    assert wider > 0.7


def test_both_streams_have_names_of_their_own_and_say_how_far() -> None:
    before = enrolled(of_two(WIDE, WIDE, 4_000, seed=1))
    found = of_past(STREAM, 60.0, of_two(tempered(WIDE, 0.5), tempered(WIDE, 0.5), 100, seed=2), before, tokens=40)
    assert [one.stream.probe_set for one in found] == ["draws-1/narrower", "draws-1/wider"]
    assert (found.wider.at, found.wider.n, found.wider.tokens) == (60.0, 200, 40)
    assert "standard deviations likelier than at enrolment" in found.narrower.reasons[0]
    assert scores(found) == (1.0, 0.0)


def test_a_prompt_is_compared_with_itself() -> None:
    """One prompt's answers are narrower than stated, another's wider, at enrolment and since: as with a reference whose
    distributions are not quite the endpoint's."""
    one, other = tempered(WIDE, 0.6), tempered(WIDE, 1.5)
    before = enrolled(of_two(one, other, 20_000, seed=1))
    assert before.likeliness[7] > 0.1
    assert before.likeliness[8] < -0.1
    z = np.array([standardised(of_two(one, other, 100, seed), before) for seed in range(2, 52)], dtype=np.float64)
    assert abs(z.mean()) < 0.6
    swapped = standardised(replace(of_two(one, other, 100, seed=3), prompts=np.repeat([8, 7], 100)), before)
    assert swapped is not None
    changed = standardised(of_two(tempered(one, 0.7), tempered(other, 0.7), 100, seed=3), before)
    assert changed is not None
    assert changed > 3.0


def test_what_was_not_enrolled_counts_nothing() -> None:
    draws = of_two(WIDE, tempered(WIDE, 0.5), 50, seed=1)
    alone = enrolled(of_two(WIDE, WIDE, 4_000, seed=2)).likeliness[7]
    found = standardised(draws, EnrolledSampler({7: alone}))
    first = replace(
        draws, logprobs=draws.logprobs[:50], drawn=draws.drawn[:50], ids=draws.ids[:50], prompts=draws.prompts[:50]
    )
    assert found == standardised(first, EnrolledSampler({7: alone}))
    nothing = of_past(STREAM, 60.0, draws, EnrolledSampler({}))
    assert all(isinstance(one.says, Inapplicable) for one in nothing)


def test_draws_that_cannot_be_read_are_inapplicable_and_enrol_nothing() -> None:
    none = of_two(WIDE, WIDE, 0, seed=1)
    found = of_past(STREAM, 60.0, none, EnrolledSampler({7: 0.0}))
    assert [one.says for one in found] == [Inapplicable("no draws")] * 2
    with pytest.raises(ValueError, match="no draws"):
        enrolled(none)
    with pytest.raises(ValueError, match="24 draws"):
        enrolled(of_two(WIDE, WIDE, 24, seed=1))
