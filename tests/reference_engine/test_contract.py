"""The contract: the log-probability of a token given what precedes it is a pure function of the profile.

Requests come at random, several at once, into an engine with little memory and small passes, so that they are cut into
chunks, preempted, found in the prefix cache and speculated on; every number has the bits it has alone.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reference_engine import GeneratedToken, SamplingParams, TokenDistribution
from reference_engine.engine import Engine
from reference_engine.errors import EngineRequestError
from reference_engine.native.build import KernelsUnavailableError, built, offered
from reference_engine.options import EngineOptions
from reference_engine.profile import FURTHER_PROFILES
from reference_engine.profile import PROFILES as FIRST_PROFILES
from tests.reference_engine.engines import opened as engine_over
from tests.reference_engine.foreseeing import Foreseeing
from tests.reference_engine.tiny_models import VOCABULARY, TinyModel

PROFILES = ("fp32", "w8a8", "w4-g64")
PROFILES_OF_ALL_KINDS = (*FIRST_PROFILES, *FURTHER_PROFILES)
# Thirty pages of the tiny model, 480 tokens: less than one whole context, and than what the requests want together.
LITTLE = 30 * 12_288
BEGINNINGS = [random.Random(1).choices(range(2, VOCABULARY), k=length) for length in (5, 40, 130)]


def kernels_run_here() -> bool:
    try:
        return any(built(isa) for isa in offered())
    except KernelsUnavailableError:
        return False


def opened(model: TinyModel, **options: object) -> Engine:
    return engine_over(model, EngineOptions(**options))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def roomy(tiny_llama: TinyModel) -> Iterator[Engine]:
    """Serves one request at a time here: what it says is what the others must say."""
    engine = opened(tiny_llama, threads=1, token_budget=4096)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def foreseeing() -> Foreseeing:
    return Foreseeing()


@pytest.fixture(scope="module", params=["none", "ngram", "model", "foreseeing"])
def cramped(tiny_llama: TinyModel, foreseeing: Foreseeing, request: pytest.FixtureRequest) -> Iterator[Engine]:
    draft = foreseeing if request.param == "foreseeing" else request.param
    engine = opened(tiny_llama, threads=2, token_budget=24, max_running=5, kv_bytes=LITTLE, draft=draft, most_drafted=5)
    yield engine
    drafted = sum(lane.counts.drafted_tokens for lane in engine.lanes())
    engine.close()
    assert (drafted > 0) == (request.param != "none")


@dataclass(frozen=True)
class Asked:
    """`seed` None asks for scores; otherwise tokens are generated, and left after `taken` of them."""

    ids: list[int]
    seed: int | None
    temperature: float
    top_p: float
    taken: int

    @property
    def key(self) -> tuple[object, ...]:
        """What its tokens depend on, besides those before."""
        return self.temperature, self.top_p, self.seed

    def answer(self, engine: Engine, profile: str) -> list[TokenDistribution] | list[GeneratedToken]:
        if self.seed is None:
            return list(engine.score(self.ids, top_k=5, profile=profile).positions)
        params = SamplingParams(
            max_tokens=20,
            temperature=self.temperature,
            top_p=self.top_p,
            seed=self.seed,
            top_k_logprobs=5,
            ignore_eos=True,
        )
        tokens = engine.generate(self.ids, params, profile=profile)
        found = [token for token, _ in zip(tokens, range(self.taken), strict=False)]
        tokens.close()  # type: ignore[attr-defined]
        return found


ASKED = st.builds(
    lambda beginning, rest, *how: Asked([*BEGINNINGS[beginning], *rest], *how),
    st.integers(0, len(BEGINNINGS) - 1),
    st.lists(st.integers(2, 9), min_size=1, max_size=30),
    st.none() | st.integers(0, 2**32),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from([1.0, 1.0, 0.6]),
    st.sampled_from([1, 7, 20]),
)


@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ASKED, min_size=1, max_size=9))
def test_every_number_has_the_bits_it_has_alone(
    roomy: Engine, cramped: Engine, foreseeing: Foreseeing, profile: str, many: list[Asked]
) -> None:
    exactness, remark = roomy.exactness(profile)
    if exactness != "bitwise":
        assert not kernels_run_here(), remark
        pytest.skip(f"torch computes here, and its arithmetic is not bitwise: {remark}")
    expected = [asked.answer(roomy, profile) for asked in many]
    foreseeing.answers = {
        (*asked.key, *asked.ids): [token.token_id for token in tokens if isinstance(token, GeneratedToken)]
        for asked, tokens in zip(many, expected, strict=True)
    }

    with ThreadPoolExecutor(len(many)) as callers:
        found = list(callers.map(lambda asked: asked.answer(cramped, profile), many))

    assert found == expected


@pytest.mark.parametrize("draft", ["none", "ngram", "model"])
def test_passes_are_planned_while_the_one_before_runs(tiny_llama: TinyModel, draft: str) -> None:
    engine = opened(tiny_llama, token_budget=64, draft=draft)
    params = SamplingParams(max_tokens=60, seed=1, ignore_eos=True)

    with ThreadPoolExecutor(8) as callers:
        list(callers.map(lambda number: list(engine.generate([5, 6, number], params)), range(8)))

    steps = engine.trace()
    engine.close()
    ahead = sum(after.planned <= before.ended for before, after in itertools.pairwise(steps))
    assert ahead >= 0.9 * (len(steps) - 1)


def test_a_score_that_was_asked_for_before_costs_no_pass(tiny_llama: TinyModel) -> None:
    engine = opened(tiny_llama)
    first = engine.score(BEGINNINGS[2], top_k=5)
    passes = len(engine.trace())

    again = engine.score(BEGINNINGS[2], top_k=5)

    assert again == first
    assert len(engine.trace()) == passes
    engine.close()


@pytest.mark.parametrize("profile", PROFILES_OF_ALL_KINDS)
def test_a_score_is_the_same_the_second_time_under_every_profile(tiny_llama: TinyModel, profile: str) -> None:
    engine = opened(tiny_llama)

    first, again = (engine.score(BEGINNINGS[1], top_k=5, profile=profile) for _ in range(2))

    engine.close()
    assert again == first


def test_what_begins_alike_is_computed_once(tiny_llama: TinyModel) -> None:
    engine = opened(tiny_llama)
    engine.score(BEGINNINGS[2], top_k=0)

    engine.score([*BEGINNINGS[2], 7, 8, 9], start=len(BEGINNINGS[2]) + 2)

    assert engine.trace()[-1].rows < len(BEGINNINGS[2]) / 2
    engine.close()


def test_speculation_on_a_text_that_repeats_takes_fewer_passes(tiny_llama: TinyModel) -> None:
    prompt = [11, 12, 13, 14, 15] * 8
    params = SamplingParams(max_tokens=40, temperature=0, ignore_eos=True)
    plain, ahead = opened(tiny_llama), opened(tiny_llama, draft="ngram")

    tokens = [list(engine.generate(prompt, params)) for engine in (plain, ahead)]

    assert tokens[0] == tokens[1]
    assert len(ahead.trace()) < len(plain.trace())
    for engine in (plain, ahead):
        engine.close()


def test_a_drafter_that_is_always_wrong_costs_no_pass_and_little_else(tiny_llama: TinyModel) -> None:
    params = SamplingParams(max_tokens=120, temperature=1.0, seed=1, ignore_eos=True)
    plain = opened(tiny_llama)
    wrong = opened(tiny_llama, draft=Foreseeing(skill=0.0, answers={(1.0, 1.0, 1, 5, 6, 7): [0] * 120}))

    tokens = [list(engine.generate([5, 6, 7], params)) for engine in (plain, wrong)]

    passes, counts = [len(engine.trace()) for engine in (plain, wrong)], wrong.lanes()[0].counts
    for engine in (plain, wrong):
        engine.close()
    assert tokens[0] == tokens[1]
    assert passes[1] <= passes[0] + 1
    assert 5 < counts.drafted_tokens < 15
    assert counts.accepted_tokens == 0


@pytest.mark.parametrize("draft", ["ngram", "model"])
def test_drafts_change_nothing_where_torch_computes(tiny_llama: TinyModel, draft: str) -> None:
    params = SamplingParams(max_tokens=12, temperature=0.7, top_p=0.9, seed=2, top_k_logprobs=3, ignore_eos=True)
    engines = opened(tiny_llama), opened(tiny_llama, draft=draft, draft_layers=3)
    exactness, remark = engines[0].exactness("fp32-kv-int8")
    if exactness != "bitwise":
        pytest.skip(f"the arithmetic of torch is not bitwise here: {remark}")

    tokens = [list(engine.generate([5, 6, 7, 8] * 4, params, profile="fp32-kv-int8")) for engine in engines]

    for engine in engines:
        engine.close()
    assert tokens[0] == tokens[1]


def test_a_request_larger_than_the_memory_is_refused_and_the_next_one_served(cramped: Engine) -> None:
    with pytest.raises(EngineRequestError, match="kv-bytes"):
        list(cramped.generate([5] * 100, SamplingParams(max_tokens=500, ignore_eos=True)))
    assert list(cramped.generate([5], SamplingParams(max_tokens=1)))


def test_answers_that_nobody_reads_on_leave_nothing_behind(tiny_llama: TinyModel) -> None:
    engine = opened(tiny_llama)
    for number in range(20):
        tokens = engine.generate([5, 6, number], SamplingParams(max_tokens=400, ignore_eos=True))
        next(tokens)
        tokens.close()  # type: ignore[attr-defined]

    engine.score(BEGINNINGS[0])

    assert all(lane.idle for lane in engine.lanes())
    engine.close()
