"""G6 in its fast form: the same figures from distributions of a known kind, with a fixed seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.detection_lab.first_tokens import FirstTokenStore
from benchmarks.detection_lab.goals import GOALS, g6
from benchmarks.detection_lab.goals.figure import Figure, Lab
from benchmarks.detection_lab.texts import TextStore
from benchmarks.detection_lab.whole_distributions import THINGS, entropy, near_entropy

VOCABULARY = 5_000


def made_up(seed: int, wanted: float = g6.ENTROPY) -> np.ndarray:
    """Log-odds of a normal kind, as wide as makes that entropy."""
    odds = np.sort(np.random.default_rng(seed).normal(size=VOCABULARY))[::-1]
    narrow, wide = 1.0, 20.0
    for _ in range(50):
        middle = (narrow + wide) / 2.0
        p = np.exp(middle * (odds - odds[0]))
        p /= p.sum()
        narrow, wide = (middle, wide) if entropy(p) > wanted else (narrow, middle)
    return p


@pytest.fixture(scope="module")
def p() -> np.ndarray:
    return np.stack([made_up(seed) for seed in range(g6.PROMPTS)])


@pytest.fixture(scope="module")
def figures(p: np.ndarray) -> dict[str, Figure]:
    return {figure.name: figure for figure in g6.figures_of(p, seed=0, quick=True)}


def test_changed_samplers_are_seen_within_their_bars(figures: dict[str, Figure]) -> None:
    assert figures["mean entropy, nat"].value == pytest.approx(2.8)
    for name, most in {"temperature 0.9": 1_000.0, "top_p 0.95": 1_500.0, "temperature 0.7": 200.0}.items():
        assert figures[f"{name}: draws"].most == most
        assert figures[f"{name}: draws"].met


def test_alarms_are_no_more_than_is_said(figures: dict[str, Figure]) -> None:
    alarms = figures["epochs of 30 days with a false alarm at 0.01"]
    assert alarms.most == 0.01
    assert alarms.met
    assert figures["at 0.05"].met
    assert figures["25 draws anew: share with collisions at 0.01"].met


def test_a_list_is_seen_the_sooner_the_more_it_cuts_off(p: np.ndarray) -> None:
    ratios = g6.ratios_of(p)
    of_25, of_50 = (
        np.median(g6.delays(p, ratios, lambda each, at=count: g6.top_k(each, at), 100, np.random.default_rng(0)))
        for count in (25, 50)
    )
    assert of_25 <= 300.0
    assert of_25 < of_50


def test_no_change_is_seen_before_the_bound(p: np.ndarray) -> None:
    ratios = g6.ratios_of(p)
    for name in ("temperature 0.9", "top_p 0.95"):
        by = g6.CHANGES[name].by
        assert np.median(g6.delays(p, ratios, by, 100, np.random.default_rng(0))) >= 0.9 * g6.bound(p, by)
    assert g6.bound(p, lambda each: g6.top_k(each, 25)) < g6.bound(p, lambda each: g6.top_k(each, 50))


def test_samplers_are_what_they_say() -> None:
    p = np.array([0.5, 0.3, 0.15, 0.05])
    assert g6.temperature(p, 1.0) == pytest.approx(p)
    assert g6.temperature(p, 0.5) == pytest.approx(p**2 / (p**2).sum())
    assert g6.top_p(p, 0.8).tolist() == pytest.approx([0.625, 0.375, 0.0, 0.0])
    assert g6.top_p(p, 0.81).tolist() == pytest.approx([0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0.0])
    assert g6.top_k(p, 2).tolist() == pytest.approx([0.625, 0.375, 0.0, 0.0])


def test_an_unchanged_sampler_is_not_seen(p: np.ndarray) -> None:
    found = g6.delays(p, g6.ratios_of(p), lambda each: each, 200, np.random.default_rng(0))
    assert np.isinf(found).mean() >= 0.99


def test_a_bar_that_is_missed_is_told(p: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(g6, "CHANGES", {"nothing": g6.Changed(lambda each: each, 1_000.0)})
    (figure,) = (each for each in g6.figures_of(p, seed=0, quick=True) if each.name == "nothing: draws")
    assert not figure.met


def test_the_goal_is_measured_on_what_is_kept(p: np.ndarray, tmp_path: Path) -> None:
    """Nothing has to be computed by a model."""
    np.savez(tmp_path / f"whole-{g6.ENTROPY:g}-{g6.PROMPTS}-of-{len(THINGS)}.npz", p=p)
    lab = Lab(FirstTokenStore(tmp_path), TextStore(tmp_path), quick=True)
    found = {figure.name: figure.value for figure in GOALS["G6"](lab)}
    assert found["mean entropy, nat"] == pytest.approx(2.8)


@pytest.mark.model
def test_prompts_are_those_whose_entropy_is_nearest(tmp_path: Path) -> None:
    p = near_entropy(tmp_path, 2.8, prompts=2, among=2)
    away = np.abs([entropy(each) - 2.8 for each in p])
    assert p.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert (np.diff(p, axis=1) <= 0.0).all()
    assert away[0] <= away[1]
    assert np.array_equal(near_entropy(tmp_path, 2.8, prompts=2, among=2), p)
