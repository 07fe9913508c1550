"""Generation under a constraint: what it may say, what its numbers are, and that nobody beside it can tell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reference_engine import EngineError, EngineRequestError, GeneratedToken, SamplingParams
from reference_engine.constraint import Constraint, masked_logprobs
from reference_engine.engine import Engine, open_engine
from reference_engine.options import EngineOptions
from reference_engine.structure import Structure
from tests.reference_engine.tiny_models import VOCABULARY, TinyModel

TODAY = datetime(2026, 1, 1, tzinfo=UTC)
PROMPT = [0, 40, 41, 42, 260]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "the": {"enum": ["then", "than", "the other"]},
        "n": {"type": "integer", "minimum": -9, "maximum": 120},
        "s": {"type": "string", "maxLength": 3},
    },
    "required": ["the", "n", "s"],
    "additionalProperties": False,
}
TOO_MANY_FIELDS = {
    "type": "object",
    "properties": {f"p{index}": {"type": "integer"} for index in range(520)},
    "additionalProperties": False,
}


def opened(model: TinyModel, **options: object) -> Engine:
    return open_engine(model.folder, profile="fp32", options=EngineOptions(**options), today=TODAY)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def constraint(tiny_engine: Engine) -> Constraint:
    return tiny_engine.structure.held_to_schema(SCHEMA)


@pytest.fixture(scope="module")
def cramped(tiny_llama: TinyModel) -> Iterator[Engine]:
    """Little memory, small passes, and drafts for all who may have them."""
    engine = opened(tiny_llama, token_budget=24, max_running=5, kv_bytes=30 * 12_288, draft="ngram", most_drafted=5)
    yield engine
    engine.close()


def answered(engine: Engine, constraint: Constraint | None, **params: object) -> list[GeneratedToken]:
    asked = SamplingParams(**{"max_tokens": 400, "top_k_logprobs": 3, **params})  # type: ignore[arg-type]
    return list(engine.generate(PROMPT, asked, constraint=constraint))


def text_of(tokens: list[GeneratedToken]) -> str:
    return "".join(token.text for token in tokens)


@pytest.mark.parametrize(("temperature", "top_p"), [(0.0, 1.0), (1.0, 1.0), (2.0, 0.9), (0.3, 0.05)])
def test_an_answer_fits_its_schema_and_stops_at_its_end(
    tiny_engine: Engine, constraint: Constraint, temperature: float, top_p: float
) -> None:
    tokens = answered(tiny_engine, constraint, temperature=temperature, top_p=top_p, seed=4)

    jsonschema.validate(json.loads(text_of(tokens)), SCHEMA)
    assert tokens[-1].finish_reason == "stop"


def test_an_answer_that_is_cut_says_so(tiny_engine: Engine, constraint: Constraint) -> None:
    tokens = answered(tiny_engine, constraint, seed=4, max_tokens=7)

    assert [token.finish_reason for token in tokens] == [None] * 6 + ["length"]


def test_logprobs_are_raw_and_beside_them_those_among_the_allowed(tiny_engine: Engine, constraint: Constraint) -> None:
    tokens = answered(tiny_engine, constraint, seed=5, temperature=0.7)

    state, known = constraint.copy(), list(PROMPT)
    for token in tokens:
        (raw,) = tiny_engine.next_tokens([known], top_k=VOCABULARY)
        logprobs = dict(raw.top)
        masked = masked_logprobs(np.array([logprobs[id_] for id_ in range(VOCABULARY)]), state.mask())
        assert token.logprob == logprobs[token.token_id]
        assert token.top == raw.top[:3]
        assert token.masked_logprob == pytest.approx(masked[token.token_id], abs=1e-9)
        assert token.masked_logprob >= token.logprob
        state.accept(token.token_id)
        known.append(token.token_id)


def test_greedy_takes_the_most_likely_allowed_token(tiny_engine: Engine, constraint: Constraint) -> None:
    state, known = constraint.copy(), list(PROMPT)
    for token in answered(tiny_engine, constraint, temperature=0, max_tokens=40):
        (raw,) = tiny_engine.next_tokens([known], top_k=VOCABULARY)
        mask = state.mask()
        assert token.token_id == next(id_ for id_, _ in raw.top if mask[id_])
        state.accept(token.token_id)
        known.append(token.token_id)


def test_a_token_that_is_allowed_anyway_is_drawn_as_without_a_constraint(tiny_engine: Engine) -> None:
    """The noise belongs to the token, not to its place among the allowed."""
    anything = tiny_engine.structure.held_to_schema({})
    mask, kept = anything.mask(), 0

    for seed in range(100):
        (free,) = answered(tiny_engine, None, seed=seed, max_tokens=1)
        (held,) = answered(tiny_engine, anything, seed=seed, max_tokens=1)
        assert mask[held.token_id]
        if mask[free.token_id]:
            kept += 1
            assert (held.token_id, held.logprob) == (free.token_id, free.logprob)
        assert free.masked_logprob is None
    assert kept > 0


def test_a_constraint_serves_several_answers_and_stays_as_it_was(tiny_engine: Engine, constraint: Constraint) -> None:
    before = constraint.mask()

    first, again = (answered(tiny_engine, constraint, seed=8) for _ in range(2))

    assert first == again
    assert (constraint.mask() == before).all()


@pytest.mark.parametrize("profile", ["w8a8", "fp64"])
def test_every_kind_of_profile_holds_to_it(tiny_engine: Engine, constraint: Constraint, profile: str) -> None:
    params = SamplingParams(max_tokens=400, seed=3)

    tokens = list(tiny_engine.generate(PROMPT, params, profile=profile, constraint=constraint))

    jsonschema.validate(json.loads(text_of(tokens)), SCHEMA)


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 99), st.integers(1, 60)), min_size=2, max_size=8))
def test_neighbours_preemption_and_drafts_change_no_bit(
    tiny_engine: Engine, cramped: Engine, constraint: Constraint, many: list[tuple[bool, int, int]]
) -> None:
    """With torch in the kernels' place, on some processors, numbers are not bitwise to begin with."""
    if tiny_engine.exactness("fp32")[0] != "bitwise":
        pytest.skip("the numbers are not bitwise here")

    def ask(engine: Engine, one: tuple[bool, int, int]) -> list[GeneratedToken]:
        held, seed, length = one
        params = SamplingParams(max_tokens=40, seed=seed, top_k_logprobs=5)
        prompt = [2 + place % 7 for place in range(length)]
        return list(engine.generate(prompt, params, constraint=constraint if held else None))

    expected = [ask(tiny_engine, one) for one in many]
    with ThreadPoolExecutor(len(many)) as callers:
        found = list(callers.map(lambda one: ask(cramped, one), many))

    assert found == expected


def test_a_grammar_that_proves_too_complex_ends_that_answer_alone(tiny_llama: TinyModel) -> None:
    engine = opened(tiny_llama)
    neighbour = engine.generate(PROMPT, SamplingParams(max_tokens=60, seed=1, ignore_eos=True))
    begun = [next(neighbour)]

    hostile = engine.structure.held_to_schema(TOO_MANY_FIELDS)
    with pytest.raises(EngineRequestError, match="cannot be held to its schema"):
        answered(engine, hostile, temperature=0)

    begun += neighbour
    assert begun == list(engine.generate(PROMPT, SamplingParams(max_tokens=60, seed=1, ignore_eos=True)))
    engine.score(PROMPT)
    assert all(lane.idle for lane in engine.lanes())
    engine.close()


class Breaking(Constraint):
    """Fails for a reason of its own, or allows nothing, from its second token on."""

    def __init__(self, mask: np.ndarray, later: np.ndarray | None) -> None:
        self._masks = [mask, later]

    def copy(self) -> Constraint:
        return self

    def accept(self, token_id: int) -> None:
        del self._masks[0]

    def mask(self) -> np.ndarray:
        if self._masks[0] is None:
            raise ValueError("a fault of the grammar library's")
        return self._masks[0]


@pytest.mark.parametrize(
    ("later", "named"), [(None, "broke off: ValueError"), (np.zeros(VOCABULARY, dtype=np.bool_), "No token is allowed")]
)
def test_a_grammar_with_a_fault_ends_its_answer_alone(
    tiny_engine: Engine, later: np.ndarray | None, named: str
) -> None:
    faulty = Breaking(np.ones(VOCABULARY, dtype=np.bool_), later)
    tokens = tiny_engine.generate(PROMPT, SamplingParams(seed=1, ignore_eos=True), constraint=faulty)

    assert next(tokens).masked_logprob is not None
    with pytest.raises(EngineError, match=named):
        next(tokens)
    assert len(answered(tiny_engine, None, seed=1, max_tokens=3, ignore_eos=True)) == 3


def test_a_constrained_answer_that_nobody_reads_on_leaves_nothing_behind(
    tiny_llama: TinyModel, constraint: Constraint
) -> None:
    engine = opened(tiny_llama)
    for seed in range(5):
        tokens = engine.generate(PROMPT, SamplingParams(seed=seed, max_tokens=400), constraint=constraint)
        next(tokens)
        tokens.close()  # type: ignore[attr-defined]

    engine.score(PROMPT)
    assert all(lane.idle for lane in engine.lanes())
    engine.close()


def test_another_models_constraint_is_refused_at_once(tiny_engine: Engine) -> None:
    other = Structure(tiny_engine._tokenizer, VOCABULARY + 8).held_to_schema({})

    with pytest.raises(EngineRequestError, match="308 tokens, the model has 300"):
        tiny_engine.generate(PROMPT, SamplingParams(), constraint=other)
