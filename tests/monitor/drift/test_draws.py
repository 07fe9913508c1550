"""What a draw's cells are follows from its distribution, never from the token that came."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from monitor.drift.draws import NOT_LISTED, Cells, Draws, of_came
from monitor.drift.observation import FloatArray
from tests.monitor.drift.listed_draws import LISTINGS, Listing, chances, drawn_first, listed

K = 5
P = np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
EVERY = np.arange(len(P))


@pytest.mark.parametrize("listing", LISTINGS)
@given(chances())
@settings(max_examples=40, deadline=None)
def test_cells_are_the_same_whichever_token_came_and_have_its_chance(listing: Listing, p: FloatArray) -> None:
    cells = Cells.of(listed(p, np.arange(len(p)), K, listing=listing))
    assert np.allclose(cells.p, cells.p[0], rtol=0.0, atol=1e-12)
    assert cells.p[0].sum() == pytest.approx(1.0)
    assert (np.diff(cells.p[0, :-1]) <= 0.0).all()
    of_rest = cells.came == K - 2
    assert p[of_rest].sum() == pytest.approx(cells.rest[0])
    assert of_came(cells.p, cells.came)[~of_rest] == pytest.approx(p[~of_rest])


def test_the_last_two_of_the_list_and_their_equals_are_of_the_rest() -> None:
    cells = Cells.of(listed(P, EVERY, K))
    assert cells.p[0] == pytest.approx([0.4, 0.25, 0.15, 0.2])
    assert cells.came.tolist() == [0, 1, 2, 3, 3, 3]
    tied = np.array([0.4, 0.15, 0.15, 0.15, 0.15])
    assert Cells.of(listed(tied, np.arange(5), K)).p[0] == pytest.approx([0.4, 0.0, 0.0, 0.6])


@given(chances())
@settings(max_examples=40, deadline=None)
def test_the_chance_of_what_came_is_not_above_its_bound(p: FloatArray) -> None:
    draws = listed(p, np.arange(len(p)), K, decimals=2, rounding=0.005, listing=drawn_first)
    cells = Cells.of(draws)
    assert (p <= cells.most_of_drawn + 1e-12).all()
    assert (of_came(cells.p, cells.came) <= of_came(cells.most, cells.came) + 1e-12).all()


def test_columns_in_any_order_are_the_same_draws() -> None:
    draws = listed(P, EVERY, K)
    order = np.array([3, 0, 4, 2, 1, 5])
    places = np.argsort(order)
    columns = np.where(draws.drawn == NOT_LISTED, NOT_LISTED, places[draws.drawn])
    found = Cells.of(replace(draws, logprobs=draws.logprobs[:, order], drawn=columns))
    assert np.array_equal(found.p, Cells.of(draws).p)
    assert np.array_equal(found.came, Cells.of(draws).came)


def test_draws_that_cannot_be_read_say_why() -> None:
    draws = listed(P, EVERY, K)
    assert draws.why_not is None
    short = draws.logprobs.copy()
    short[1, 2] = np.nan
    assert replace(draws, logprobs=short).why_not == "1 of 6 draws list fewer than 5 log-probabilities"
    assert "add up to 1.92" in str(replace(draws, logprobs=draws.logprobs + np.log(2.0)).why_not)
    assert listed(P, EVERY[:0], K).why_not == "no draws"


def test_a_mask_far_below_is_a_listed_token_that_never_comes() -> None:
    draws = listed(P, EVERY, K)
    masked = draws.logprobs.copy()
    masked[:, 2] = -9_999.0
    cells = Cells.of(replace(draws, logprobs=masked))
    assert cells.p[0] == pytest.approx([0.4, 0.25, 0.1, 0.25])


def test_impossible_draws_are_refused() -> None:
    draws = listed(P, EVERY, K)
    with pytest.raises(ValueError, match="one drawn token"):
        replace(draws, drawn=draws.drawn[:-1])
    with pytest.raises(ValueError, match="3 to 6 are listed"):
        replace(draws, k=7)
    with pytest.raises(ValueError, match="this is -1"):
        replace(draws, rounding=-1.0)


def test_how_many_draws_there_are() -> None:
    assert len(listed(P, EVERY, K)) == len(EVERY)
    assert isinstance(listed(P, EVERY, K), Draws)
