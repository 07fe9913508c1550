from __future__ import annotations

import json
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest

from benchmarks.simulated.lists import Lists
from monitor.drift.evidence import Inapplicable, NotYet
from monitor.drift.fingerprint import LEAST_ANSWERS, EnrolledPrompt, Enrolment, enrol
from monitor.drift.levels import DAY
from monitor.drift.listing import Listing

HOUR = 3_600.0


def answers(seed: int, hours: int = 240, prompts: int = 2, noise: float = 0.03) -> list[Listing]:
    rng = np.random.default_rng(seed)
    return list(chain.from_iterable(Lists.of(rng, noise, prompts).hours(rng, hours)))


def enrolled(listings: list[Listing]) -> Enrolment:
    found = enrol(listings)
    assert isinstance(found, Enrolment), found
    return found


def fixed(*answers: dict[bytes, float]) -> EnrolledPrompt:
    listings = [Listing("p", n * HOUR, tuple(one), np.array(list(one.values()))) for n, one in enumerate(answers)]
    return enrolled(listings).prompts[0]


def test_fewer_answers_than_two_hundred_are_too_few_yet() -> None:
    found = answers(0, LEAST_ANSWERS)
    assert isinstance(enrol(found), Enrolment)
    found[-1] = replace(found[-1], tokens=(), logprobs=np.empty(0))
    early = enrol(found)
    assert isinstance(early, NotYet)
    assert early.reason.startswith("too few yet: 199 answers to prompt-1")
    assert isinstance(enrol([]), NotYet)


def test_where_no_answer_brings_any_it_is_inapplicable_at_once() -> None:
    found = enrol([replace(one, tokens=(), logprobs=np.empty(0)) for one in answers(0, 5)])
    assert found == Inapplicable("none of 10 answers brought log-probabilities")


def test_a_token_in_four_of_five_answers_is_kept_and_one_in_fewer_is_not() -> None:
    often, seldom = {b"a": -0.1, b"b": -3.0, b"c": -4.0}, {b"a": -0.1, b"b": -3.0, b"d": -4.0}
    assert fixed(*[often] * 160, *[seldom] * 40).tokens == (b"a", b"b", b"c")
    assert fixed(*[often] * 159, *[seldom] * 41).tokens == (b"a", b"b")


def test_no_more_tokens_are_kept_than_are_listed() -> None:
    names = [b"b", b"c", b"d", b"e", b"f", b"g"]
    # Each is in five of six answers, of six tokens each.
    found = fixed(*[{b"a": -0.1, **{n: -2.0 for n in names if n != names[turn % 6]}} for turn in range(240)])
    assert found.listed == 6
    assert len(found.tokens) == 6


@pytest.mark.parametrize("sentinel", [-9_999.0, -np.inf, float(np.finfo(np.float32).min), 3.0])
def test_a_sentinel_leaves_means_and_caps_as_they_are(sentinel: float) -> None:
    plain = [{b"a": -0.1, b"b": -3.0 - 0.01 * (n % 3)} for n in range(201)]
    with_one = [*plain[:-1], {**plain[-1], b"z": sentinel}]
    assert fixed(*with_one) == fixed(*plain)


def test_a_missing_token_does_not_move_its_mean() -> None:
    full, cut = {b"a": -0.1, b"b": -3.0, b"c": -9.0}, {b"a": -0.1, b"b": -3.0, b"x": -8.9}
    found = fixed(*[full] * 180, *[cut] * 20)
    assert found.means == pytest.approx((-0.1, -3.0, -9.0))


def test_noise_is_the_mean_deviation_and_the_cap_beyond_it() -> None:
    one = enrolled(answers(1)).prompts[0]
    # Of a normal value with a deviation of 0.03 nat.
    assert one.noise == pytest.approx(0.03 * np.sqrt(2.0 / np.pi), rel=0.1)
    assert one.odds_noise is not None
    assert 5.0 * one.noise < one.cap < 15.0 * one.noise


def test_the_order_in_which_answers_are_read_changes_no_bit() -> None:
    found = answers(2)
    shuffled = [found[place] for place in np.random.default_rng(3).permutation(len(found))]
    assert enrolled(shuffled).to_json() == enrolled(found).to_json()


def test_it_is_stored_to_the_last_bit_in_little_room() -> None:
    one = enrolled(answers(4, prompts=8))
    text = one.to_json()
    assert Enrolment.from_json(text) == one
    assert Enrolment.from_json(text).to_json() == text
    assert sum(len(prompt.tokens) for prompt in one.prompts) >= 140
    assert len(text.encode()) <= 20_000


def test_tokens_that_are_no_text_are_stored() -> None:
    one = fixed(*[{b"\xf0\x9f": -0.1, b"\x00": -3.0}] * 200)
    found = Enrolment((one,), 0.0, 1.0)
    assert Enrolment.from_json(found.to_json()) == found


def test_what_is_no_enrolment_is_refused() -> None:
    text = enrolled(answers(5)).to_json()
    written = json.loads(text)
    prompt = written["prompts"][0]
    for wrong in (
        "",
        "[]",
        "{}",
        text[:-10],
        json.dumps({**written, "version": 2}),
        json.dumps({**written, "prompts": []}),
        json.dumps({**written, "prompts": [{**prompt, "means": prompt["means"][1:]}]}),
        json.dumps({**written, "prompts": [{**prompt, "tokens": ["zz"] * len(prompt["means"])}]}),
        json.dumps({**written, "prompts": [{"prompt": "p"}]}),
    ):
        with pytest.raises(ValueError, match="enrol anew"):
            Enrolment.from_json(wrong)


def test_a_baseline_that_moved_half_way_is_not_taken() -> None:
    rng = np.random.default_rng(6)
    before = Lists.of(rng, 0.03, 2)
    found = [*before.hours(rng, 168), *before.moved(rng, 0.071).hours(rng, 168, first=168)]
    blended = enrol(chain.from_iterable(found))
    assert isinstance(blended, NotYet)
    assert "moved within the baseline" in blended.reason
    assert isinstance(enrol(chain.from_iterable(before.hours(rng, 336))), Enrolment)


def test_a_prompt_whose_tokens_are_never_the_same_is_left_out() -> None:
    whims = [Listing("whim", n * HOUR, (b"%d" % n,), np.array([-0.1])) for n in range(240)]
    found = enrolled([*answers(7), *whims])
    assert found.left_out == ("whim",)
    assert "whim" not in [one.prompt for one in found.prompts]
    assert isinstance(enrol(whims), Inapplicable)
    assert Enrolment.from_json(found.to_json()) == found


def test_of_a_single_token_there_are_no_log_odds() -> None:
    one = fixed(*[{b"a": -0.1}] * 200)
    assert (one.odds_cap, one.odds_noise) == (None, None)
    assert Enrolment((one,), 0.0, DAY).odds_noise is None
