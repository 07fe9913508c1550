from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.attribution import NONE, Attribution, Suspect, attribute, suspects
from monitor.drift.discriminating import Kind, chances
from monitor.drift.features import STATES, Feature
from monitor.drift.ruler import size_odds
from monitor.drift.sightings import Sighting

DISTANCES = {"w8-channel": 0.071, "fp8-e4m3": 0.154, "nf4": 0.46, "w4-g64": 0.61}
EVERY = suspects(profiles=tuple(DISTANCES), templates=("template:none",))


def weights(found: Attribution) -> dict[str, float]:
    return {one.cause.name: one.cause.weight for one in found.ranked}


@st.composite
def sightings(draw: st.DrawFn) -> list[Sighting]:
    features = draw(st.lists(st.sampled_from(list(Feature)), unique=True, max_size=8))
    logs = st.floats(-20.0, 0.0)
    return [Sighting(one, tuple(draw(logs) for _ in STATES[one])) for one in features]


likelihoods = st.dictionaries(st.sampled_from([*DISTANCES, "template:none"]), st.floats(-60.0, 60.0), max_size=4)


@settings(max_examples=50, deadline=None)
@given(sightings(), likelihoods)
def test_weights_add_up_whatever_was_seen_and_none_of_these_is_among_them(
    seen: list[Sighting], known: dict[str, float]
) -> None:
    found = attribute(seen, EVERY, likelihoods=known)
    assert sum(weights(found).values()) == pytest.approx(1.0)
    assert set(weights(found)) == {one.name for one in EVERY} | {NONE.name}
    values = [one.cause.weight for one in found.ranked]
    assert values == sorted(values, reverse=True)
    assert sum(found.kinds.values()) == pytest.approx(1.0)
    assert set(found.unseen) == set(Feature) - {one.feature for one in seen}


@settings(max_examples=25, deadline=None)
@given(sightings(), likelihoods, st.randoms(use_true_random=False))
def test_the_order_of_suspects_and_sightings_changes_no_bit(
    seen: list[Sighting], known: dict[str, float], random: st.random_module
) -> None:
    suspected, other, items = list(EVERY), list(seen), list(known.items())
    for one in (suspected, other, items):
        random.shuffle(one)  # type: ignore[attr-defined]
    assert attribute(other, suspected, likelihoods=dict(items)) == attribute(seen, EVERY, likelihoods=known)


@settings(max_examples=50, deadline=None)
@given(sightings(), st.sampled_from(list(Feature)))
def test_a_sighting_that_says_nothing_is_as_none_at_all_and_not_as_same(seen: list[Sighting], feature: Feature) -> None:
    without = [one for one in seen if one.feature is not feature]
    even = Sighting(feature, (0.0,) * len(STATES[feature]))
    assert weights(attribute([*without, even], EVERY)) == pytest.approx(weights(attribute(without, EVERY)))


def test_same_is_evidence_and_a_missing_tier_is_none() -> None:
    still = Sighting.certain(Feature.TOOL_FORM, "same")
    nothing, same = weights(attribute([], EVERY)), weights(attribute([still], EVERY))
    assert nothing["tool-parser"] == pytest.approx(nothing["cache"])
    assert same["tool-parser"] < 0.1 * same["cache"]


def test_beforehand_every_kind_has_an_equal_share() -> None:
    kinds = attribute([], EVERY).kinds
    assert [kinds[kind] for kind in Kind] == pytest.approx([1.0 / len(Kind)] * len(Kind))
    more = attribute([], suspects(profiles=tuple(f"p{i}" for i in range(40)))).kinds
    assert more[Kind.WEIGHTS] == pytest.approx(kinds[Kind.WEIGHTS])


@settings(max_examples=100, deadline=None)
@given(sightings(), st.sampled_from(list(Feature)), st.integers(0, 4), st.floats(0.0, 10.0))
def test_more_evidence_of_a_state_lifts_the_causes_that_make_it_likeliest(
    seen: list[Sighting], feature: Feature, which: int, more: float
) -> None:
    """Against every cause that this state speaks against more than any other state does."""
    state = which % len(STATES[feature])
    without = [one for one in seen if one.feature is not feature]
    logs = [-1.0] * len(STATES[feature])
    before = weights(attribute([*without, Sighting(feature, tuple(logs))], EVERY))
    logs[state] += more
    after = weights(attribute([*without, Sighting(feature, tuple(logs))], EVERY))
    for one in EVERY:
        for other in EVERY:
            ratios = np.array(chances(one.kind, feature)) / np.array(chances(other.kind, feature))
            if ratios[state] == ratios.max() and min(before[other.name], before[one.name]) > 1e-200:
                assert math.log(after[one.name] / after[other.name]) >= (
                    math.log(before[one.name] / before[other.name]) - 1e-6
                )


@settings(max_examples=50, deadline=None)
@given(sightings(), likelihoods, st.sampled_from(["nf4", "template:none"]), st.floats(0.0, 40.0))
def test_a_candidate_that_explains_the_tokens_better_never_sinks(
    seen: list[Sighting], known: dict[str, float], name: str, more: float
) -> None:
    known.setdefault(name, 0.0)
    before = attribute(seen, EVERY, likelihoods=known)
    after = attribute(seen, EVERY, likelihoods=known | {name: known[name] + more})
    assert weights(after)[name] >= weights(before)[name] * (1.0 - 1e-9)


def test_a_candidate_that_was_not_computed_is_not_taken_for_unlikely() -> None:
    alone = weights(attribute([], EVERY, likelihoods={"nf4": -20.0}))
    assert alone["w8-channel"] == pytest.approx(alone["fp8-e4m3"])
    assert alone["w8-channel"] > 100.0 * alone["nf4"]
    # A good explanation beats those that were not computed by half of what it explains.
    good = weights(attribute([], EVERY, likelihoods={"nf4": 20.0}))
    assert math.log(good["nf4"] / good["w8-channel"]) == pytest.approx(10.0)
    # What leaves tokens as they are explains nothing of it.
    assert math.log(good["nf4"] / good["tool-parser"]) == pytest.approx(20.0 - math.log(5.0), abs=1e-6)


def test_between_candidates_the_likelihoods_decide_however_large_they_are() -> None:
    found = weights(attribute([], EVERY, likelihoods={"nf4": 400.0, "w4-g64": 395.0}))
    assert math.log(found["nf4"] / found["w4-g64"]) == pytest.approx(5.0)


SIGNS = {
    "template:none": [Sighting.certain(Feature.COUNTS, "fewer"), Sighting.sized(Feature.FIRST_TOKENS, 5.0, 0.3)],
    "system-prompt": [
        Sighting.certain(Feature.COUNTS, "more"),
        Sighting.sized(Feature.FIRST_TOKENS, 5.0, 0.3),
        Sighting.tested(Feature.REFUSALS, 200.0),
    ],
    "tokenizer": [Sighting.certain(Feature.COUNTS, "varying"), Sighting.certain(Feature.PIECES, "other")],
    "model": [
        Sighting.sized(Feature.FIRST_TOKENS, 25.0, 2.0),
        Sighting.sized(Feature.GREEDY, 50.0, 3.0),
        Sighting.tested(Feature.TRIGGERS, 100.0),
    ],
    "kv-cache": [Sighting.sized(Feature.FIRST_TOKENS, 0.05, 0.1), Sighting.certain(Feature.CONTEXT, "grows")],
    "engine": [
        Sighting.sized(Feature.FIRST_TOKENS, 0.5, 0.1),
        Sighting.certain(Feature.REPEATS, "other"),
        Sighting.certain(Feature.SURFACE, "moved"),
        Sighting.certain(Feature.TIMING, "step"),
    ],
    "temperature": [Sighting.of(Feature.SAMPLER, {"as-asked": 0.0, "temperature": 9.0, "top-p": 1.0, "top-k": -2.0})],
    "top-p": [Sighting.of(Feature.SAMPLER, {"as-asked": 0.0, "temperature": 2.0, "top-p": 9.0, "top-k": -2.0})],
    "top-k": [Sighting.of(Feature.SAMPLER, {"as-asked": 0.0, "temperature": 2.0, "top-p": 1.0, "top-k": 9.0})],
    "penalty": [Sighting.of(Feature.SAMPLER, {"as-asked": 0.0, "temperature": 2.0, "top-p": 1.0, "penalty": 9.0})],
    "tool-parser": [Sighting.tested(Feature.TOOL_FORM, 1e4), Sighting.certain(Feature.STREAM_TWINS, "differ")],
    "fine-tune": [
        Sighting.sized(Feature.FIRST_TOKENS, 0.7, 0.1),
        Sighting.certain(Feature.SHAPE, "topical"),
        Sighting.tested(Feature.TOPICS, 1e3),
        Sighting.tested(Feature.REFUSALS, 100.0),
    ],
    "cache": [Sighting.tested(Feature.COLLISIONS, 1e5), Sighting.certain(Feature.REPEATS, "none")],
    "mixture": [Sighting.certain(Feature.REPEATS, "clusters"), Sighting.certain(Feature.COUNTS, "two")],
}


@pytest.mark.parametrize("name", list(SIGNS))
def test_each_cause_is_named_by_its_own_signs(name: str) -> None:
    known = {"template:none": 10.0} if name == "template:none" else None
    best = attribute(SIGNS[name], EVERY, likelihoods=known).best
    assert best.cause.name == name
    assert best.cause.weight > 0.4
    assert best.evidence


@pytest.mark.parametrize("name", ["w8-channel", "fp8-e4m3", "w4-g64"])
def test_weights_are_named_by_the_size_of_the_shift(name: str) -> None:
    unit = DISTANCES["w8-channel"]
    seen = [
        Sighting.certain(Feature.COUNTS, "same"),
        Sighting.sized(Feature.FIRST_TOKENS, DISTANCES[name] / unit, 0.1),
        Sighting.certain(Feature.SHAPE, "scattered"),
        Sighting.certain(Feature.TIMING, "step"),
        Sighting.tested(Feature.TRIGGERS, 0.05),
        Sighting.tested(Feature.TOPICS, 0.2),
        Sighting.tested(Feature.REFUSALS, 0.05),
    ]
    assert attribute(seen, EVERY, sizes=size_odds(DISTANCES[name], 0.007, DISTANCES)).best.cause.name == name


def test_signs_that_fit_no_cause_are_none_of_these() -> None:
    seen = [
        Sighting.certain(Feature.COUNTS, "two"),
        Sighting.certain(Feature.PIECES, "other"),
        Sighting.certain(Feature.SAMPLER, "top-k"),
        Sighting.certain(Feature.STREAM_TWINS, "differ"),
        Sighting.certain(Feature.CONTEXT, "grows"),
    ]
    assert attribute(seen, EVERY).best.cause.name == NONE.name


def test_evidence_is_told_in_words_for_and_against_the_strongest_first() -> None:
    seen = [Sighting.tested(Feature.TOOL_FORM, 1e4), Sighting.certain(Feature.COUNTS, "more")]
    by_name = {one.cause.name: one for one in attribute(seen, EVERY).ranked}
    parser, prompt = by_name["tool-parser"], by_name["system-prompt"]
    assert parser.evidence[0].startswith("tool calls are formed otherwise (")
    assert any(words.startswith("every prompt counts more tokens") for words in parser.against)
    assert prompt.evidence[0].startswith("every prompt counts more tokens")
    assert any(words.startswith("tool calls are formed otherwise") for words in prompt.against)


def test_tokens_to_tell_two_apart_follow_from_their_divergence() -> None:
    known = {"nf4": 20.0, "w4-g64": 18.0}

    def apart(divergences: dict[tuple[str, str], float]) -> tuple[int | None, str]:
        found = attribute([], EVERY, likelihoods=known, divergences=divergences, alpha=0.001).best.apart
        assert found is not None
        assert (found.first, found.second) == ("nf4", "w4-g64")
        return found.tokens, found.words

    assert apart({("nf4", "w4-g64"): 0.01}) == (691, "about 691 tokens tell nf4 from w4-g64")
    # Of the first given the second, it is not known from the second given the first.
    assert apart({("w4-g64", "nf4"): 0.01}) == (None, "tokens to tell nf4 from w4-g64: not known")
    assert apart({("nf4", "w4-g64"): 0.0}) == (None, "no number of such tokens tells nf4 from w4-g64")


def test_the_last_cause_has_no_runner_up() -> None:
    ranked = attribute([], EVERY).ranked
    assert ranked[-1].apart is None
    assert all(one.apart is not None for one in ranked[:-1])


@pytest.mark.parametrize(
    ("seen", "among", "more"),
    [
        ([Sighting.tested(Feature.PIECES, 2.0)] * 2, EVERY, {}),
        ([], (Suspect("a", Kind.SWAP), Suspect("a", Kind.WEIGHTS)), {}),
        ([], EVERY, {"likelihoods": {"gpt-9": 1.0}}),
        ([], EVERY, {"sizes": {"gpt-9": 1.0}}),
        ([], EVERY, {"likelihoods": {"nf4": float("nan")}}),
        ([], EVERY, {"alpha": 0.0}),
    ],
)
def test_what_cannot_be_ranked_is_refused(
    seen: list[Sighting], among: tuple[Suspect, ...], more: dict[str, object]
) -> None:
    with pytest.raises(ValueError, match=r"one sighting|own|no suspects|finite|alpha"):
        attribute(seen, among, **more)  # type: ignore[arg-type]
