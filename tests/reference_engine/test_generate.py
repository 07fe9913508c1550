"""Generation: greedy, seeded, stopped, cut, and true to the distribution it draws from."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from scipy import stats

from reference_engine import EngineRequestError, GeneratedToken, SamplingParams
from reference_engine.engine import Engine
from tests.reference_engine.tiny_models import VOCABULARY

PROMPT = [0, 40, 41, 42, 260]


def generated(engine: Engine, prompt: list[int] | None = None, **params: object) -> list[GeneratedToken]:
    return list(engine.generate(prompt or PROMPT, SamplingParams(**params)))  # type: ignore[arg-type]


def text_of(tokens: list[GeneratedToken]) -> str:
    return "".join(token.text for token in tokens)


def ids_of(tokens: list[GeneratedToken]) -> list[int]:
    return [token.token_id for token in tokens]


def test_greedy_takes_the_most_likely_token_each_time(tiny_engine: Engine) -> None:
    tokens = generated(tiny_engine, max_tokens=30, temperature=0.0, ignore_eos=True, top_k_logprobs=3)
    sequence = list(PROMPT)

    for token in tokens:
        expected = tiny_engine.score(sequence, start=len(sequence), top_k=3).next
        assert (token.token_id, token.logprob) == expected.top[0]
        assert [id_ for id_, _ in token.top] == [id_ for id_, _ in expected.top]
        sequence.append(token.token_id)
    assert [token.finish_reason for token in tokens] == [None] * 29 + ["length"]


def test_a_seed_fixes_the_answer_and_another_changes_it(tiny_engine: Engine) -> None:
    answers = [ids_of(generated(tiny_engine, max_tokens=25, seed=seed, ignore_eos=True)) for seed in (1, 1, 2)]

    assert answers[0] == answers[1]
    assert answers[0] != answers[2]
    unseeded = {tuple(ids_of(generated(tiny_engine, max_tokens=25, ignore_eos=True))) for _ in range(3)}
    assert len(unseeded) == 3


def test_a_continued_answer_is_the_answer_itself(tiny_engine: Engine) -> None:
    """The draw at a position depends on seed and position, not on where the request began."""
    whole = ids_of(generated(tiny_engine, max_tokens=20, seed=9, ignore_eos=True))
    rest = ids_of(generated(tiny_engine, PROMPT + whole[:8], max_tokens=12, seed=9, ignore_eos=True))

    assert rest == whole[8:]


@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_first_tokens_follow_the_next_token_distribution(tiny_engine: Engine, temperature: float) -> None:
    [expected] = tiny_engine.next_tokens([PROMPT], top_k=VOCABULARY)
    ids, logprobs = zip(*expected.top, strict=True)
    weights = np.exp(np.array(logprobs) / temperature)
    probabilities = dict(zip(ids, weights / weights.sum(), strict=True))
    frequent = [id_ for id_ in ids if probabilities[id_] > 0.01]
    draws = [
        generated(tiny_engine, max_tokens=1, seed=seed, temperature=temperature, ignore_eos=True)[0]
        for seed in range(600)
    ]

    counts = [sum(draw.token_id == id_ for draw in draws) for id_ in frequent]
    masses = [probabilities[id_] for id_ in frequent]
    observed = [*counts, len(draws) - sum(counts)]
    wanted = [mass * len(draws) for mass in (*masses, 1 - math.fsum(masses))]
    assert stats.chisquare(observed, wanted).pvalue > 1e-4
    raw = dict(expected.top)
    assert all(draw.logprob == pytest.approx(raw[draw.token_id], abs=1e-9) for draw in draws)


def test_top_p_never_leaves_the_nucleus(tiny_engine: Engine) -> None:
    [expected] = tiny_engine.next_tokens([PROMPT], top_k=VOCABULARY)
    mass = np.cumsum(np.exp([logprob for _, logprob in expected.top]))
    nucleus = {id_ for id_, _ in expected.top[: int(np.argmax(mass >= 0.2)) + 1]}

    drawn = {
        generated(tiny_engine, max_tokens=1, seed=seed, top_p=0.2, ignore_eos=True)[0].token_id for seed in range(400)
    }

    assert drawn == nucleus
    assert 1 < len(nucleus) < 60


def test_an_end_token_ends_the_answer_without_text(tiny_engine: Engine) -> None:
    seed = next(
        seed
        for seed in range(1000)
        if 1 in ids_of(generated(tiny_engine, max_tokens=40, seed=seed, ignore_eos=True))[5:]
    )
    endless = generated(tiny_engine, max_tokens=40, seed=seed, ignore_eos=True)
    end = ids_of(endless).index(1)

    ended = generated(tiny_engine, max_tokens=40, seed=seed)

    assert ids_of(ended) == ids_of(endless)[: end + 1]
    assert ended[-1].finish_reason == "stop"
    assert "</s>" not in text_of(ended)
    assert endless[-1].finish_reason == "length"
    assert len(endless) == 40


def test_a_control_token_adds_its_text_where_that_was_asked_for(tiny_engine: Engine) -> None:
    seed = next(seed for seed in range(1000) if 0 in ids_of(generated(tiny_engine, max_tokens=9, seed=seed)))

    hidden, shown = (generated(tiny_engine, max_tokens=9, seed=seed, shown=shown) for shown in ((), (0,)))

    assert "<s>" not in text_of(hidden)
    assert text_of(shown).replace("<s>", "") == text_of(hidden)
    assert [token.text for token in shown if token.token_id == 0] == ["<s>"] * ids_of(shown).count(0)


def test_text_is_the_tokens_bytes(tiny_engine: Engine) -> None:
    tokens = generated(tiny_engine, max_tokens=60, seed=4, ignore_eos=True)
    shown = [id_ for id_ in ids_of(tokens) if id_ not in (0, 1)]

    raw = b"".join(tiny_engine.token_bytes(id_) for id_ in shown)

    assert text_of(tokens) == raw.decode("utf-8", "replace")


@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_a_stop_string_ends_the_text_before_it(tiny_engine: Engine, width: int) -> None:
    whole = text_of(generated(tiny_engine, max_tokens=60, seed=8, ignore_eos=True))
    stop = whole[20 : 20 + width]

    tokens = generated(tiny_engine, max_tokens=60, seed=8, ignore_eos=True, stop=("never there", stop))

    assert text_of(tokens) == whole.partition(stop)[0]
    assert tokens[-1].finish_reason == "stop"
    assert all(token.finish_reason is None for token in tokens[:-1])


def test_text_held_for_a_stop_string_comes_with_the_last_token(tiny_engine: Engine) -> None:
    tokens = generated(tiny_engine, max_tokens=12, seed=8, ignore_eos=True)
    whole = text_of(tokens)

    held = generated(tiny_engine, max_tokens=12, seed=8, ignore_eos=True, stop=(whole[-4:] + "more",))

    assert text_of(held) == whole
    assert len(held[-1].text) >= 4
    assert held[-1].finish_reason == "length"


def test_the_context_ends_an_answer(tiny_engine: Engine) -> None:
    tokens = generated(tiny_engine, [5] * 500, max_tokens=100, seed=1, ignore_eos=True)

    assert len(tokens) == 12
    assert tokens[-1].finish_reason == "length"
    with pytest.raises(EngineRequestError, match="The prompt has 512 tokens, the model's context allows 511"):
        generated(tiny_engine, [5] * 512)


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"temperature": -0.1}, "temperature is -0.1"),
        ({"temperature": math.nan}, "temperature is nan"),
        ({"temperature": math.inf}, "temperature is inf"),
        ({"top_p": 0.0}, "top_p is 0.0"),
        ({"top_p": 1.5}, "top_p is 1.5"),
        ({"top_p": math.nan}, "top_p is nan"),
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"stop": ("",)}, "stop string is empty"),
        ({"top_k_logprobs": 999}, "top_k is 999"),
    ],
)
def test_wrong_parameters_are_refused_before_the_first_token(
    tiny_engine: Engine, params: dict[str, object], named: str
) -> None:
    with pytest.raises(EngineRequestError, match=named):
        tiny_engine.generate(PROMPT, SamplingParams(**params))  # type: ignore[arg-type]


def test_answers_asked_for_in_turn_do_not_disturb_each_other(tiny_engine: Engine) -> None:
    params = [SamplingParams(max_tokens=15, seed=seed, ignore_eos=True) for seed in (5, 6)]
    alone = [ids_of(list(tiny_engine.generate(PROMPT, each))) for each in params]

    streams: list[Iterator[GeneratedToken]] = [tiny_engine.generate(PROMPT, each) for each in params]
    mixed = list(zip(*streams, strict=True))

    assert [ids_of(list(stream)) for stream in zip(*mixed, strict=True)] == alone


@pytest.mark.model
def test_the_bundled_model_ends_its_answer(engine: Engine) -> None:
    prompt = engine.render([{"role": "user", "content": "What is the capital of France? Answer in one word."}]).ids

    tokens = list(engine.generate(prompt, SamplingParams(max_tokens=60, temperature=0.0)))

    assert tokens[-1].token_id == 2
    assert tokens[-1].finish_reason == "stop"
    assert "Paris" in text_of(tokens)
    assert "<|im_end|>" not in text_of(tokens)


def test_a_reused_beginning_changes_no_bit(tiny_engine: Engine) -> None:
    """The beginning that two prompts share is run once; the second one's numbers are those of a first one."""
    beginning = [40 + number % 20 for number in range(30)]
    one, other = [*beginning, 41, 42], [*beginning, 50, 51, 52]
    cold = generated(tiny_engine, other, max_tokens=5, temperature=0.0, ignore_eos=True, top_k_logprobs=5)
    generated(tiny_engine, one, max_tokens=5, temperature=0.0, ignore_eos=True)

    warm = generated(tiny_engine, other, max_tokens=5, temperature=0.0, ignore_eos=True, top_k_logprobs=5)

    assert warm == cold
    assert tiny_engine.score(other, start=len(other), top_k=5).next.top == warm[0].top


def test_a_beginning_is_not_reused_under_another_profile(tiny_engine: Engine) -> None:
    prompt = [40 + number % 20 for number in range(30)]
    params = SamplingParams(max_tokens=1, temperature=0.0, ignore_eos=True, top_k_logprobs=5)
    list(tiny_engine.generate([*prompt, 41], params, profile="fp32"))

    (token,) = tiny_engine.generate([*prompt, 42], params, profile="bf16")

    assert token.top == tiny_engine.score([*prompt, 42], start=31, top_k=5, profile="bf16").next.top
