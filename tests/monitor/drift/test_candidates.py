"""Likelihood ratios of candidates: their mean, exactly, over every sequence of a tiny alphabet."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.candidates import ALLOWED, FLOOR, Hypotheses, LikelihoodRatio, ratio_paths, token_mixture
from monitor.drift.observation import FloatArray

ALPHABET, LENGTH = 3, 4
SEQUENCES = np.array(list(itertools.product(range(ALPHABET), repeat=LENGTH)))


@dataclass(frozen=True)
class Language:
    """Chances [columns, length, token before, token] of every hypothesis; the first `among` are candidates."""

    chances: FloatArray
    among: int

    @classmethod
    def drawn(cls, seed: int, candidates: int, allowed: int) -> Language:
        shape = (candidates + allowed, LENGTH, ALPHABET)
        chances = np.random.default_rng(seed).dirichlet(np.full(ALPHABET, 0.4), size=shape)
        return cls(0.99 * chances + 0.01 / ALPHABET, candidates)

    def of(self, sequences: np.ndarray) -> FloatArray:
        """Log-likelihoods [sequences, tokens, columns]."""
        before = np.concatenate([np.zeros((len(sequences), 1), dtype=int), sequences[:, :-1]], axis=1)
        return np.moveaxis(np.log(self.chances[:, np.arange(sequences.shape[1]), before, sequences]), 0, -1)

    @property
    def logs(self) -> FloatArray:
        return self.of(SEQUENCES)

    def hypotheses(self, horizon: int = LENGTH, clip: float = 2.0) -> Hypotheses:
        names = [f"h{i}" for i in range(len(self.chances))]
        return Hypotheses(tuple(names[: self.among]), tuple(names[self.among :]), horizon, clip)


def mean_of(values: FloatArray, logs: FloatArray) -> float:
    """Of a value for every sequence, under the hypothesis with these log-likelihoods [sequences, tokens]."""
    return float(np.exp(logs.sum(axis=1)) @ values)


def stopped_at(paths: FloatArray, threshold: float) -> FloatArray:
    reached = paths >= threshold
    place = np.where(reached.any(axis=1), reached.argmax(axis=1), paths.shape[1] - 1)
    return np.exp(paths[np.arange(len(paths)), place])


languages = st.builds(Language.drawn, st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 3))


@settings(max_examples=60, deadline=None)
@given(languages, st.integers(1, 6), st.floats(0.05, 8.0), st.floats(-0.5, 2.0))
def test_its_mean_is_at_most_one_under_each_allowed_hypothesis_whenever_one_stops(
    language: Language, horizon: int, clip: float, threshold: float
) -> None:
    paths = ratio_paths(language.hypotheses(horizon, clip), language.logs)
    for column in range(language.among, language.logs.shape[-1]):
        assert mean_of(np.exp(paths[:, -1]), language.logs[..., column]) <= 1.0
        assert mean_of(stopped_at(paths, threshold), language.logs[..., column]) <= 1.0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 6))
def test_nothing_is_given_away_where_one_profile_is_allowed_and_nothing_is_cut(
    seed: int, candidates: int, horizon: int
) -> None:
    language = Language.drawn(seed, candidates, 1)
    paths = ratio_paths(language.hypotheses(horizon, 100.0), language.logs)
    assert mean_of(np.exp(paths[:, -1]), language.logs[..., -1]) == pytest.approx(1.0, abs=1e-9)


def test_losses_cut_from_below_would_break_it() -> None:
    language = Language.drawn(3, 2, 1)
    paths = ratio_paths(language.hypotheses(clip=100.0), language.logs)
    cut = np.maximum(np.diff(paths, prepend=0.0, axis=1), -0.2).sum(axis=1)
    assert mean_of(np.exp(cut), language.logs[..., -1]) > 1.1


def test_its_mean_is_above_one_under_noise_outside_the_cloud() -> None:
    """Tokens drawn half by the allowed and half by the candidate: a small step towards what it bets on."""
    language = Language.drawn(3, 1, 2)
    logs = language.logs
    outside = np.log((np.exp(logs[..., 0]) + np.exp(logs[..., 1])) / 2.0)
    paths = ratio_paths(language.hypotheses(), logs)
    assert mean_of(np.exp(paths[:, -1]), outside) > 1.1


def test_noise_that_is_drawn_anew_at_each_token_needs_its_mixture_among_the_allowed() -> None:
    """The candidate lies where the two members' mixture is: neither of them alone explains the tokens as well."""
    members = np.array([[0.98, 0.01, 0.01], [0.01, 0.98, 0.01]])
    candidate = np.array([0.45, 0.45, 0.10])
    columns = np.stack([candidate, *members])
    logs = Language(np.broadcast_to(columns[:, None, None, :], (3, LENGTH, ALPHABET, ALPHABET)), 1).logs
    mixture = token_mixture(logs[..., 1:])
    assert mean_of(np.ones(len(logs)), mixture) == pytest.approx(1.0)

    without = ratio_paths(Hypotheses(("c",), ("a", "b"), LENGTH), logs)
    assert mean_of(np.exp(without[:, -1]), mixture) > 1.5
    wider = np.concatenate([logs, mixture[..., np.newaxis]], axis=-1)
    along = ratio_paths(Hypotheses(("c",), ("a", "b", "mixture"), LENGTH), wider)
    for column in range(1, 4):
        assert mean_of(np.exp(along[:, -1]), wider[..., column]) <= 1.0


def test_a_factor_may_gain_on_average_so_factors_are_not_multiplied_anew() -> None:
    """After tokens that fit the second allowed hypothesis, those of the first one bring the maximum down."""
    language = Language.drawn(7, 1, 2)
    paths = ratio_paths(language.hypotheses(clip=100.0), language.logs)
    worst = 0.0
    for at, column in itertools.product(range(1, LENGTH), (1, 2)):
        factors = np.exp(paths[:, at] - paths[:, at - 1]) * np.exp(language.logs[:, at:, column].sum(axis=1))
        by_past = factors.reshape(ALPHABET**at, -1).sum(axis=1)
        worst = max(worst, float(by_past.max()))
    assert worst > 1.05


@settings(max_examples=25, deadline=None)
@given(languages, st.integers(0, 2**32 - 1))
def test_the_order_of_hypotheses_changes_nothing(language: Language, seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = language.logs.shape[-1]
    order = np.concatenate(
        [rng.permutation(language.among), language.among + rng.permutation(columns - language.among)]
    )
    named = language.hypotheses()
    names = np.array([*named.candidates, *named.allowed])[order].tolist()
    other = Hypotheses(tuple(names[: language.among]), tuple(names[language.among :]), LENGTH)
    row, permuted = language.logs[5], language.logs[5][:, order]
    one = LikelihoodRatio.start(named).after(row)
    two = LikelihoodRatio.start(other).after(permuted)
    assert two.log_value == pytest.approx(one.log_value, abs=1e-9)
    assert two.gains() == pytest.approx(dict(one.gains()), abs=1e-9)
    beliefs = [{cause.name: cause.weight for cause in state.belief()} for state in (one, two)]
    assert beliefs[0] == pytest.approx(beliefs[1], abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(languages, st.lists(st.integers(0, LENGTH), max_size=3), st.integers(0, len(SEQUENCES) - 1))
def test_blocks_of_any_size_and_many_streams_at_once_give_the_same_bits(
    language: Language, cuts: list[int], which: int
) -> None:
    hypotheses, logs = language.hypotheses(3, 0.7), language.logs
    whole = LikelihoodRatio.start(hypotheses).after(logs[which])
    state = LikelihoodRatio.start(hypotheses)
    for block in np.split(logs[which], sorted(cuts)):
        state = state.after(block)
    assert state == whole
    assert whole.log_value == ratio_paths(hypotheses, logs)[which, -1]


@settings(max_examples=25, deadline=None)
@given(languages, st.floats(0.0, 3.0), st.integers(0, len(SEQUENCES) - 1))
def test_a_candidate_that_explains_the_last_token_better_lowers_nothing(
    language: Language, better: float, which: int
) -> None:
    logs = language.logs[which].copy()
    before = LikelihoodRatio.start(language.hypotheses()).after(logs)
    logs[-1, 0] = min(0.0, logs[-1, 0] + better)
    after = LikelihoodRatio.start(language.hypotheses()).after(logs)
    assert after.log_value >= before.log_value - 1e-12
    assert after.gains()["h0"] >= before.gains()["h0"] - 1e-12


@settings(max_examples=25, deadline=None)
@given(languages, st.floats(0.05, 2.0))
def test_no_token_adds_more_than_the_clip(language: Language, clip: float) -> None:
    steps = np.diff(ratio_paths(language.hypotheses(clip=clip), language.logs), prepend=0.0, axis=1)
    assert steps.max() <= clip + 1e-12


def test_a_candidate_that_was_not_computed_gains_and_loses_nothing() -> None:
    language = Language.drawn(3, 2, 2)
    logs = language.logs[11].copy()
    logs[:, 1] = np.nan
    alone = Hypotheses(("h1",), ("h2", "h3"), LENGTH)
    state = LikelihoodRatio.start(alone).after(logs[:, 1:])
    assert state.log_value <= 0.0
    assert state.gains()["h1"] <= 0.0
    both = LikelihoodRatio.start(language.hypotheses()).after(logs)
    assert np.isfinite(both.log_value)


def test_a_mean_with_missing_candidates_stays_at_most_one() -> None:
    language = Language.drawn(5, 2, 2)
    logs = language.logs.copy()
    logs[:, 1::2, 1] = np.nan
    paths = ratio_paths(language.hypotheses(), logs)
    for column in (2, 3):
        assert mean_of(np.exp(paths[:, -1]), logs[..., column]) <= 1.0


def test_a_token_that_a_candidate_excludes_is_floored_and_others_go_on() -> None:
    hypotheses = Hypotheses(("top-k", "t"), ("fp32",), 100)
    logs = np.log([[0.5, 0.5, 0.4], [1e-300, 0.5, 0.4], [0.5, 0.5, 0.4]])
    logs[1, 0] = -np.inf
    state = LikelihoodRatio.start(hypotheses).after(logs)
    assert np.isfinite(state.log_value)
    assert state.candidates[0] == pytest.approx(2 * np.log(0.5) + FLOOR)
    assert state.gains()["t"] > state.gains()["top-k"]


def tokens_of(rng: np.random.Generator, chances: FloatArray, column: int, size: tuple[int, int]) -> FloatArray:
    """Log-likelihoods [streams, tokens, columns] of tokens drawn by a row of chances [columns, vocabulary]."""
    drawn = rng.choice(chances.shape[1], size=size, p=chances[column])
    return np.moveaxis(np.log(chances[:, drawn]), 0, -1)


def vocabulary(rng: np.random.Generator) -> FloatArray:
    """Two candidates, and a profile with three members of its cloud; of 20 tokens."""
    logits = rng.standard_normal(20)
    steps = np.array([0.3, 0.6, 0.0, 0.05, 0.05, 0.05])[:, np.newaxis] * rng.standard_normal((6, 20))
    weights = np.exp(logits + steps)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


HYPOTHESES = Hypotheses(("a", "b"), ("fp32", "m0", "m1", "m2"), 400)


@pytest.mark.parametrize("column", [2, 4])
def test_lawful_streams_seldom_reach_twenty_ever(column: int) -> None:
    rng = np.random.default_rng(0)
    paths = ratio_paths(HYPOTHESES, tokens_of(rng, vocabulary(rng), column, (1_000, 400)))
    assert np.mean(paths.max(axis=1) >= np.log(20.0)) <= 0.05 + 2.0 * np.sqrt(0.05 * 0.95 / 1_000)


@pytest.mark.parametrize("begins", [0, 200])
def test_a_change_is_proven_soon_whenever_it_begins_and_the_candidate_is_named(begins: int) -> None:
    rng = np.random.default_rng(0)
    chances = vocabulary(rng)
    divergence = float(chances[1] @ np.log(chances[1] / chances[2]))
    needed = int(2.0 * (np.log(1_000.0) + np.log(HYPOTHESES.horizon)) / divergence)
    logs = np.concatenate([tokens_of(rng, chances, 2, (20, begins)), tokens_of(rng, chances, 1, (20, needed))], axis=1)
    assert np.median(ratio_paths(HYPOTHESES, logs)[:, -1]) >= np.log(1_000.0)
    states = [LikelihoodRatio.start(HYPOTHESES).after(stream) for stream in logs]
    assert np.mean([state.belief()[0].name == "b" for state in states]) >= 0.9
    assert np.median([state.gains()["b"] for state in states]) > 5.0
    assert sum(cause.weight for cause in states[0].belief()) == pytest.approx(1.0)


def test_it_starts_at_one_and_believes_in_no_change() -> None:
    state = LikelihoodRatio.start(HYPOTHESES)
    assert state.value == 1.0
    assert state.belief()[0].name == ALLOWED
    assert state.belief()[0].weight == 1.0
    assert set(state.gains().values()) == {0.0}
    assert state.after(np.zeros((0, 6))) == state


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.zeros((2, 3)), "6 hypotheses"),
        (np.full((2, 6), np.nan), "allowed"),
        (np.full((2, 6), 0.1), "at most 0"),
    ],
)
def test_what_cannot_be_likelihoods_is_refused(values: FloatArray, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        LikelihoodRatio.start(HYPOTHESES).after(values)


@pytest.mark.parametrize(
    ("candidates", "allowed", "more"),
    [
        ((), ("a",), {}),
        (("a",), (), {}),
        (("a",), ("a",), {}),
        (("a",), ("b",), {"clip": 0.0}),
        (("a",), ("b",), {"horizon": 0}),
    ],
)
def test_hypotheses_that_say_nothing_are_refused(
    candidates: tuple[str, ...], allowed: tuple[str, ...], more: dict[str, float]
) -> None:
    with pytest.raises(ValueError, match=r"needed|names|horizon"):
        Hypotheses(candidates, allowed, **more)  # type: ignore[arg-type]
