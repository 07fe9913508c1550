"""A short form of the part `whole` of `benchmarks.simulated`."""

from __future__ import annotations

import pytest

from benchmarks.simulated import whole_answers


def test_unchanged_answers_keep_their_level_and_a_changed_temperature_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_answers, "CHANGES", {"temperature 0.8": whole_answers.tempered(0.8)})
    monkeypatch.setattr(whole_answers, "DEALS", 999)
    figures = list(whole_answers.figures(120, 3))
    assert [one.what for one in figures if one.missed] == []
    seen = {one.what: one.value for one in figures}
    assert seen["temperature 0.8: rounds in which ranks has p ≤ .05 (3)"] == 1.0
    assert seen["temperature 0.8: rounds in which likelihood has p ≤ .05 (3)"] == 1.0


def test_coarser_weights_are_further_away() -> None:
    assert whole_answers.divergence(whole_answers.same) == 0.0
    near, far = (whole_answers.divergence(whole_answers.noisy(at)) for at in (0.3, 1.0))
    assert 0.0 < near < 0.1 < far


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_every_promise_holds_in_the_long_form() -> None:
    assert [one.what for one in whole_answers.figures(2_000, 100, seed=1) if one.missed] == []
