"""Private prompts: fixed for a seed, unlike any other seed's, varied, and filled in."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes import vocabulary
from probes.grammar import GRAMMAR_SHA256, GRAMMAR_VERSION, Draw, Prompt, anchors, fill, long_answers, single_use
from probes.vocabulary import FRAMES, LONG_ANSWERS, NONCES, SYSTEM_MESSAGES

SEED = bytes(range(32))
OTHER = bytes(32)


def user_text(prompt: Prompt) -> str:
    return prompt.messages[-1]["content"]


def test_the_grammar_of_this_version_never_changes() -> None:
    """Anchors are compared over years. Whoever changes a word raises GRAMMAR_VERSION and pins the new hash here."""
    assert (GRAMMAR_VERSION, GRAMMAR_SHA256[:8]) == ("1", "c8f1c43b")
    assert [prompt.sha256[:8] for prompt in anchors(SEED, 3)] == ["713940f3", "a6986915", "0222fe2d"]
    assert single_use(SEED, b"nonce", 1)[0].sha256[:8] == "a6067dcc"


def test_a_seed_gives_the_same_anchors_and_more_begin_with_fewer() -> None:
    assert anchors(SEED, 40) == anchors(SEED, 40)
    assert anchors(SEED, 40)[:10] == anchors(SEED, 10)
    assert anchors(SEED, 0) == []


def test_seeds_share_almost_no_prompts() -> None:
    texts = {seed: {user_text(prompt) for prompt in anchors(seed, 300)} for seed in (SEED, OTHER, b"a", b"b")}

    for one, other in itertools.combinations(texts.values(), 2):
        assert len(one & other) <= 1


def test_single_use_prompts_are_never_met_again() -> None:
    runs = [single_use(SEED, nonce, 200) for nonce in (b"run-1", b"run-2")] + [single_use(OTHER, b"run-1", 200)]
    texts = [user_text(prompt) for run in runs for prompt in run]

    assert len(set(texts)) == len(texts)
    assert not set(texts) & {user_text(prompt) for prompt in anchors(SEED, 200)}


def surnames() -> set[str]:
    syllables = [onset + vowel for onset in vocabulary.ONSETS for vowel in vocabulary.VOWELS]
    return {a + b + coda for a in syllables for b in syllables for coda in vocabulary.CODAS}


def test_there_are_more_than_a_thousand_million_single_use_prompts_of_each_kind() -> None:
    persons = len(surnames()) * len(vocabulary.FIRST_NAMES)
    for nonce in NONCES:
        assert "{person}" in nonce
        assert "{ticket}" in nonce or "{code}" in nonce
    assert persons * 9000 > 10**9


def test_anchors_are_all_different() -> None:
    found = anchors(SEED, 500)

    assert len({prompt.sha256[:8] for prompt in found}) == 500
    assert len({user_text(prompt) for prompt in found}) == 500


@pytest.mark.parametrize("prompts", [anchors(SEED, 60), single_use(SEED, b"n", 60)], ids=["anchors", "single-use"])
def test_a_third_of_the_prompts_is_foreign_and_families_are_many(prompts: list[Prompt]) -> None:
    foreign = {frame.family for frame in FRAMES if frame.foreign}
    families = Counter(prompt.family for prompt in prompts)

    assert sum(families[family] for family in foreign) == 20
    assert len(families) >= 15
    assert max(families.values()) <= 12


def test_one_anchor_in_five_has_a_system_message_and_no_single_use_prompt_has() -> None:
    for seed in (SEED, OTHER):
        roles = [prompt.messages[0]["role"] for prompt in anchors(seed, 50)]
        blocks = [roles[start : start + 5].count("system") for start in range(0, 50, 5)]
        assert blocks == [1] * 10
    assert {prompt.messages[0]["role"] for prompt in single_use(SEED, b"n", 50)} == {"user"}


def test_foreign_families_bring_other_scripts_or_digits() -> None:
    for prompt in single_use(SEED, b"n", 300):
        text = user_text(prompt)
        if prompt.family in {frame.family for frame in FRAMES if frame.foreign}:
            assert not text.isascii() or sum(character.isdigit() for character in text) >= 12


def test_every_frame_can_be_filled() -> None:
    frames = [frame.text for frame in (*FRAMES, *LONG_ANSWERS)] + list(NONCES) + list(SYSTEM_MESSAGES)
    for text in frames:
        filled = fill(text, Draw(SEED, text))
        assert "{" not in filled
        assert filled.isprintable()
        assert len(filled) <= 140


def test_prompts_for_streams_are_single_use() -> None:
    texts = [user_text(prompt) for nonce in (b"1", b"2") for prompt in long_answers(SEED, nonce, 8)]

    assert len(set(texts)) == 16


@given(st.binary(max_size=40), st.integers(1, 2**32))
def test_a_draw_stays_below_its_size(seed: bytes, size: int) -> None:
    draw = Draw(seed, "x")

    assert all(0 <= draw.below(size) < size for _ in range(8))


def test_draws_are_even() -> None:
    draw = Draw(SEED, "even")
    counts = Counter(draw.below(10) for _ in range(10_000))

    # Eight standard deviations of a fair draw.
    assert all(abs(count - 1000) < 240 for count in counts.values())


def test_contexts_are_not_confused() -> None:
    contexts = [("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), (b"abc", 1), (b"abc", "1", "")]

    assert len({Draw(SEED, *context).below(2**32) for context in contexts}) == len(contexts)
