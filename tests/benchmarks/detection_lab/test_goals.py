"""Goals on made-up answers whose figures are known, their bars, and what is computed once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import detection
from benchmarks.detection_lab import powers as powers_module
from benchmarks.detection_lab import product
from benchmarks.detection_lab.changes import CHANGES, UNCHANGED
from benchmarks.detection_lab.distances import TABLE_D, distance, kl, lt_statistics
from benchmarks.detection_lab.first_tokens import TOP, FirstTokens, FirstTokenStore
from benchmarks.detection_lab.goals import g2, g4, g5, g7
from benchmarks.detection_lab.goals.figure import Figure, Lab, table
from benchmarks.detection_lab.powers import TABLE_E, Pools, Sizes, powers, single_rut_power
from benchmarks.detection_lab.product import rows_ours
from benchmarks.detection_lab.reproduction import rows_d, rows_e
from benchmarks.detection_lab.texts import NO_TOKEN, Asked, Texts, TextStore


def first_tokens(prompts: int, shift: float = 0.0, seed: int = 0) -> FirstTokens:
    """The same tokens with log-probabilities of a known kind, alternating tokens' shifted up and down."""
    rng = np.random.default_rng(seed)
    falling = -np.sort(rng.exponential(2.0, (prompts, TOP)), axis=1)
    unchanged = falling - np.log(np.exp(falling).sum(axis=1, keepdims=True)) - 1e-3
    changed = unchanged + shift * np.where(np.arange(TOP) % 2, 1.0, -1.0)
    order = np.argsort(-changed, axis=1, kind="stable")
    ids = np.broadcast_to(np.arange(TOP, dtype=np.int32), (prompts, TOP))
    return FirstTokens(np.take_along_axis(ids, order, axis=1), np.take_along_axis(changed, order, axis=1), changed)


def texts(ids: np.ndarray, margins: np.ndarray, gaps: np.ndarray | None = None) -> Texts:
    ranks = np.where(np.isnan(margins), NO_TOKEN, margins > 0).astype(np.int32)
    return Texts(ids, -1.0 - margins, ranks, margins, np.full(ids.shape, 9.0) if gaps is None else gaps)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(FirstTokenStore(tmp_path), TextStore(tmp_path), quick=True)


def test_a_figure_meets_its_bar_or_has_none() -> None:
    assert Figure("a", 0.5, least=0.5, most=0.6).met
    assert not Figure("a", 0.49, least=0.5).met
    assert not Figure("a", float("inf"), most=9.0).met
    told, missed = list(table([Figure("told", 1.0), Figure("missed", 2.0, most=1.5)]))[2:]
    assert told == "| told | 1.000 | – |  |"
    assert missed == "| missed | 2.000 | ≤ 1.5 | missed |"


@pytest.mark.parametrize(("value", "code"), [(0.9, 0), (0.1, 1)])
def test_a_missed_bar_is_the_exit_code(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], value: float, code: int
) -> None:
    monkeypatch.setattr(detection, "GOALS", {"G0": lambda _: [Figure("known", value, least=0.5)]})
    assert detection.show_goal(lab, "G0") == code
    assert "| known |" in capsys.readouterr().out


def test_what_is_kept_is_not_computed_again_and_fewer_prompts_are_its_beginning(lab: Lab) -> None:
    """Nothing could be computed: the change is no change of any model."""
    made = first_tokens(6)
    np.savez(lab.first.folder / "first-fp32.npz", ids=made.ids, logprobs=made.logprobs, at_unchanged=made.at_unchanged)
    assert np.array_equal(lab.first.get(UNCHANGED, 4).logprobs, made.logprobs[:4])
    kept = texts(np.zeros((2, 3, 4), dtype=np.int32), np.zeros((2, 3, 4)))
    np.savez(lab.texts.folder / "texts-nf4-2x4-t1-1.npz", **kept.by_name())
    assert lab.texts.get(CHANGES["nf4"], Asked(2, 2, 4), pool=1).ids.shape == (2, 2, 4)


def test_distances_of_a_known_shift() -> None:
    unchanged, changed = first_tokens(30), first_tokens(30, shift=0.01)
    found = distance(unchanged, changed)
    assert found.top_20 == pytest.approx(0.01, abs=0.002)
    assert found.kl > 0
    assert distance(unchanged, unchanged).top_20 == distance(unchanged, unchanged).kl == 0.0
    assert found.tight_flips >= found.flips


def test_kl_is_that_of_the_kept_tokens_and_the_rest() -> None:
    p, q = np.array([[0.5, 0.3]]), np.array([[0.4, 0.2]])
    ids = np.array([[1, 2]], dtype=np.int32)
    found = kl(FirstTokens(ids, np.log(p), np.log(p)), FirstTokens(ids, np.log(q), np.log(q)))
    expected = 0.5 * np.log(0.5 / 0.4) + 0.3 * np.log(0.3 / 0.2) + 0.2 * np.log(0.2 / 0.4)
    assert found == pytest.approx([expected])


def test_lt_statistic_of_a_prompt_is_over_the_listed_tokens_only() -> None:
    unchanged = first_tokens(3)
    moved = FirstTokens(unchanged.ids, unchanged.logprobs.copy(), unchanged.at_unchanged)
    moved.logprobs[:, 30:] -= 5.0
    assert lt_statistics(unchanged, moved, 20).tolist() == [0.0] * 3


def test_area_is_half_without_a_change_and_one_with_a_large_one() -> None:
    unchanged = first_tokens(2)
    rng = np.random.default_rng(0)
    assert g2.area(unchanged, unchanged, 20, 300, rng) == pytest.approx(0.5, abs=0.07)
    assert g2.area(unchanged, first_tokens(2, shift=0.1), 20, 50, rng) == 1.0


def test_border_inputs_are_ties_and_their_area_tells_a_swap_from_noise() -> None:
    unchanged = first_tokens(200)
    rng = np.random.default_rng(1)
    gaps = unchanged.logprobs[:, 0] - unchanged.logprobs[:, 1]
    assert gaps[g4.border_inputs(unchanged, rng)].max() < np.median(gaps) / 3
    assert g4.area(unchanged, unchanged, 200, rng) == pytest.approx(0.5, abs=0.1)
    assert g4.area(unchanged, first_tokens(200, shift=0.2), 50, rng) == 1.0


def greedy(margin: float, gap: float) -> Texts:
    """Two answers of 20 tokens, every tenth of which is another than the reference's."""
    margins = np.zeros((2, 1, 20))
    margins[:, :, ::10] = margin
    margins[0, 0, -1] = np.nan
    return texts(np.zeros(margins.shape, dtype=np.int32), margins, np.full(margins.shape, gap))


def test_clear_mismatches_are_seen_in_a_few_answers_and_lawful_noise_is_not() -> None:
    # Five of them at three nats each.
    assert g5.tokens_to_detection(greedy(margin=1.0, gap=1.0), walks=11, seed=0) <= 50
    assert g5.tokens_to_detection(greedy(margin=0.0, gap=0.02), walks=11, seed=0) == np.inf
    assert g5.false_alarms(greedy(margin=0.0, gap=0.03), walks=40, seed=0) == 0.0


def test_a_walk_goes_through_the_answers_of_one_prompt_after_another() -> None:
    known = g5.there(greedy(margin=0.4, gap=0.5))
    places = g5.walk(known, np.random.default_rng(0))
    assert len(places) == g5.LONGEST
    assert (np.diff(places) == 1).mean() > 0.9
    assert places.max() < known.sum() == 39


def drawn(seed: int, words: int, answers: int = 24, prompts: int = 4) -> Texts:
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, words, (prompts, answers, 12)).astype(np.int32)
    return texts(ids, rng.exponential(1.0, ids.shape))


def test_powers_are_the_level_without_a_change_and_one_against_another_model() -> None:
    same = powers(Pools(drawn(0, 5), drawn(1, 5)), answers=6, repeats=40, seed=0)
    assert all(power.at_01 <= power.at_05 <= 0.3 for power in same.values())
    other = powers(Pools(drawn(0, 5), drawn(1, 50)), answers=6, repeats=20, seed=0)
    assert other["MET"].at_01 == 1.0
    assert single_rut_power(Pools(drawn(0, 5), drawn(1, 5)), 50, seed=0).at_05 <= 0.2


def keep_first(lab: Lab, name: str, made: FirstTokens) -> None:
    kept = {"ids": made.ids, "logprobs": made.logprobs, "at_unchanged": made.at_unchanged}
    np.savez(lab.first.folder / f"first-{name}.npz", **kept)


def test_goals_on_first_tokens_tell_a_change_that_is_there(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(g2, "QUICK", ("noise-2^-3",))
    monkeypatch.setattr(g2, "QUICK_TRIALS", 20)
    monkeypatch.setattr(g2, "ENROLMENTS", 1)
    monkeypatch.setattr(g4, "QUICK_TRIALS", 20)
    keep_first(lab, "fp32", first_tokens(g4.PROMPTS))
    for name in ("noise-2^-3", *g2.SUSPECTS):
        keep_first(lab, name, first_tokens(g4.PROMPTS, shift=0.3))
    assert all(figure.met and figure.value > 0.9 for figure in [*g2.measure(lab), *g4.measure(lab)])


def test_goal_on_whole_answers_has_its_bars(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(g7, "QUICK_REPEATS", 3)
    monkeypatch.setattr(powers_module, "PERMUTATIONS", 39)
    for seed, name in enumerate((UNCHANGED.name, *g7.CHANGED)):
        made = drawn(seed, 5 + 200 * seed, answers=g7.QUICK_POOL, prompts=g7.PROMPTS)
        for pool in (0, 1):
            np.savez(lab.texts.folder / f"texts-{name}-25x50-t1-{pool}.npz", **made.by_name())
    monkeypatch.setattr(product, "DRAWS", 39)
    figures = {figure.name: figure for figure in g7.measure(lab)}
    assert figures["MET: power against nf4"].value == 1.0
    assert figures["RUT, one answer to a prompt: false alarms at .05"].bar == "≤ 0.06"
    assert figures["distance: power against nf4"].value == 1.0
    assert figures["distance: false alarms at .05"].bar == "≥ 0.04 and ≤ 0.06"


def test_rivals_are_printed_beside_every_published_row(lab: Lab) -> None:
    keep_first(lab, "fp32", first_tokens(25))
    for name in TABLE_D:
        keep_first(lab, name, first_tokens(25, shift=0.07))
    lines = list(rows_d(lab.first, 25))
    assert [line.split(" | ")[0] for line in lines[2:]] == [f"| {name}" for name in TABLE_D]
    noise, int8 = (next(line for line in lines if f"| {name} |" in line) for name in ("noise-0.01", "w8-channel"))
    assert " | – | " in noise
    assert " | – | " not in int8


def test_powers_are_printed_beside_every_published_row(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(powers_module, "PERMUTATIONS", 19)
    for seed, name in enumerate(TABLE_E):
        for pool in (0, 1):
            made = drawn(2 * seed + pool, 5, answers=12, prompts=10)
            np.savez(lab.texts.folder / f"texts-{name}-10x30-t1-{pool}.npz", **made.by_name())
    monkeypatch.setattr(product, "DRAWS", 19)
    for rows in (rows_e, rows_ours):
        lines = list(rows(lab.texts, Sizes(12, 12, repeats=2)))
        assert [line.split(" | ")[0] for line in lines[2:]] == [f"| {name}" for name in TABLE_E]
        assert "(0.69 / 0.45)" in lines[5]


def test_the_products_powers_are_the_level_without_a_change_and_one_against_another_model() -> None:
    same = product.product_powers(Pools(drawn(0, 5), drawn(1, 5)), answers=6, repeats=40, seed=0)
    assert all(power.at_01 <= power.at_05 <= 0.3 for power in same.values())
    assert list(same) == [*product.TESTS, "all three, by E"]
    other = product.product_powers(Pools(drawn(0, 5), drawn(1, 50)), answers=6, repeats=10, seed=0)
    assert other["distance"].at_01 == 1.0


def test_the_level_is_that_of_dealing_and_not_of_one_pair_of_pools() -> None:
    """Two pools that differ: resampled from them every test would reject, dealt anew hardly any does."""
    apart = Pools(drawn(0, 5), drawn(1, 50))
    assert product.product_levels(apart, answers=6, repeats=60, seed=0)["distance"].at_05 <= 0.05 + 3 * 0.028


def test_the_products_answers_are_those_of_the_lab_prompt_by_prompt() -> None:
    made = drawn(2, 9)
    found = product.answers_of(made)
    assert found.prompts.tolist() == sorted(list(range(4)) * 24)
    assert np.array_equal(found.ids[24], made.ids[1, 0])
    assert found.nll == pytest.approx(-made.logprobs.mean(axis=-1).ravel())
