"""The engine against transformers, and its own answers against each other, whatever way they are asked for."""

from __future__ import annotations

import itertools
import math
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel

from reference_engine import PROFILES, EngineError, EngineRequestError, SamplingParams, TokenDistribution, load_engine
from reference_engine.engine import Engine
from tests.reference_engine.texts import ENGLISH, MULTILINGUAL
from tests.reference_engine.tiny_models import VOCABULARY, TinyModel, write_gguf

# What float32 sums differ by when their order does; how much depends on the processor (2e-5 nat is the most seen).
ROUNDING = 1e-4
IDS = random.Random(3).choices(range(VOCABULARY), k=200)


def far(a: TokenDistribution, b: TokenDistribution) -> float:
    """The largest difference in nats between two distributions that list the same tokens."""
    ours, theirs = dict(a.top), dict(b.top)
    assert ours.keys() == theirs.keys()
    return max(abs(ours[id_] - theirs[id_]) for id_ in ours)


@pytest.mark.model
@pytest.mark.parametrize(("text", "least"), [(ENGLISH, 520), (MULTILINGUAL, 100)])
def test_fp32_agrees_with_transformers_on_real_text(
    engine: Engine, transformers_model: PreTrainedModel, text: str, least: int
) -> None:
    ids = engine.tokenize(text)
    assert len(ids) >= least
    with torch.inference_mode():
        theirs = torch.log_softmax(transformers_model(torch.tensor([ids])).logits[0].double(), dim=-1)

    scored = engine.score(ids)

    assert len(scored.positions) == len(ids) + 1
    for row, position in zip(theirs, scored.positions[1:], strict=True):
        top_ids, top = zip(*position.top, strict=True)
        assert (row[list(top_ids)] - torch.tensor(top, dtype=torch.float64)).abs().max() < ROUNDING
        assert top[0] == pytest.approx(row.max().item(), abs=ROUNDING)
        if position.token_id is not None:
            assert position.logprob == pytest.approx(row[position.token_id].item(), abs=ROUNDING)


@pytest.mark.model
def test_many_prompts_at_once_give_what_each_gives_alone(engine: Engine) -> None:
    words = ["Hi", "What is a comet?", "Name three rivers in Europe and say where each begins.", "x", "x"]
    prompts = [engine.render([{"role": "user", "content": word}]).ids for word in words]
    prompts += [(5, 17, 99), tuple(engine.tokenize(ENGLISH[:900])), (2,)]

    together = engine.next_tokens(prompts)

    for prompt, distribution in zip(prompts, together, strict=True):
        alone = engine.score(prompt, start=len(prompt)).next
        assert far(distribution, alone) < ROUNDING
        assert distribution.index == len(prompt)
        assert distribution.token_id is distribution.logprob is distribution.rank is None


@pytest.mark.model
def test_decoding_gives_what_scoring_gives(engine: Engine) -> None:
    prompt = engine.render([{"role": "user", "content": "Tell me about the sea."}]).ids
    tokens = list(engine.generate(prompt, SamplingParams(max_tokens=80, temperature=0.0, top_k_logprobs=20)))

    scored = engine.score([*prompt, *(token.token_id for token in tokens)], start=len(prompt))

    for token, position in zip(tokens, scored.positions, strict=False):
        assert position.rank == 0
        assert position.token_id == token.token_id
        assert max(abs(dict(token.top)[id_] - logprob) for id_, logprob in position.top) < ROUNDING
        assert token.logprob == dict(token.top)[token.token_id]


def test_a_prompt_beyond_one_piece_of_work_is_scored_as_a_whole(tmp_path: Path) -> None:
    from tests.reference_engine.tiny_models import CONFIGS, write_tiny_model

    model = write_tiny_model(tmp_path, "qwen3")
    assert CONFIGS["qwen3"].max_position_embeddings == 512
    (tmp_path / "config.json").write_text((tmp_path / "config.json").read_text().replace("512", "4096"))
    ids = random.Random(1).choices(range(VOCABULARY), k=2600)

    scored = load_engine(tmp_path).score(ids, start=2000, top_k=VOCABULARY)

    expected = model.logprobs(ids)
    assert len(scored.positions) == 601
    for position in scored.positions:
        assert all(abs(expected[position.index - 1, id_] - logprob) < 1e-4 for id_, logprob in position.top[:20])


def test_a_distribution_is_whole_sorted_and_ranked(tiny_engine: Engine) -> None:
    scored = tiny_engine.score(IDS[:20], top_k=VOCABULARY, token_ids=[3, 299])

    first, *rest = scored.positions
    assert (first.index, first.token_id, first.logprob, first.rank, first.top) == (0, IDS[0], None, None, ())
    assert first.tail_mass == 1.0
    for index, position in enumerate(rest, start=1):
        assert position.index == index
        assert list(position.top) == sorted(position.top, key=lambda entry: (-entry[1], entry[0]))
        assert math.fsum(math.exp(logprob) for _, logprob in position.top) == pytest.approx(1.0, abs=1e-7)
        assert position.tail_mass == pytest.approx(0.0, abs=1e-7)
        assert position.chosen == {id_: dict(position.top)[id_] for id_ in (3, 299)}
        if position.token_id is not None:
            assert position.rank is not None
            assert position.top[position.rank] == (position.token_id, position.logprob)
    assert scored.next.token_id is None
    assert [position.token_id for position in scored.positions] == [*IDS[:20], None]


def test_the_top_is_cut_and_the_rest_is_the_tail(tiny_engine: Engine) -> None:
    whole = tiny_engine.score(IDS[:9], start=9, top_k=VOCABULARY).next
    cut = tiny_engine.score(IDS[:9], start=9, top_k=5, token_ids=[7]).next

    assert cut.top == whole.top[:5]
    assert cut.tail_mass == pytest.approx(math.fsum(math.exp(logprob) for _, logprob in whole.top[5:]), abs=1e-7)
    assert tiny_engine.score(IDS[:9], start=9, top_k=0).next.top == ()


@pytest.mark.parametrize("start", [0, 1, 7, 30])
def test_start_leaves_out_earlier_positions_only(tiny_engine: Engine, start: int) -> None:
    assert tiny_engine.score(IDS[:30], start=start).positions == tiny_engine.score(IDS[:30]).positions[start:]


def test_wanted_tokens_are_given_per_prompt(tiny_engine: Engine) -> None:
    prompts, wanted = [IDS[:5], IDS[:9], IDS[:5]], [[1, 2], [], [299]]

    answers = tiny_engine.next_tokens(prompts, top_k=3, token_ids=wanted)

    assert [list(answer.chosen) for answer in answers] == wanted
    assert tiny_engine.next_tokens([]) == []


def test_the_order_and_company_of_prompts_do_not_matter(tiny_engine: Engine) -> None:
    prompts = [IDS[:length] for length in (1, 2, 63, 64, 65, 130)] + [[*IDS[:40], 1, 2, 3]]
    alone = [tiny_engine.next_tokens([prompt])[0] for prompt in prompts]

    for order in ([6, 5, 4, 3, 2, 1, 0], [2, 2, 2], [0, 6], [5, 4]):
        together = tiny_engine.next_tokens([prompts[at] for at in order])
        assert all(far(answer, alone[at]) < ROUNDING for at, answer in zip(order, together, strict=True))


def test_threads_get_the_answers_they_would_get_alone(tiny_engine: Engine) -> None:
    work = [(IDS[:length], profile) for length, profile in itertools.product((3, 50, 120), PROFILES)]
    alone = [tiny_engine.score(ids, profile=profile) for ids, profile in work]

    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(lambda item: tiny_engine.score(item[0], profile=item[1]), work))

    assert together == alone


def test_numpy_ids_are_ids(tiny_engine: Engine) -> None:
    assert tiny_engine.score(np.array(IDS[:4])).ids == tuple(IDS[:4])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"ids": []}, "no tokens"),
        ({"ids": [5, VOCABULARY]}, "300 is not a token id"),
        ({"ids": [-1]}, "-1 is not a token id"),
        ({"ids": ["a"]}, "'a' is not a token id"),
        ({"ids": [1] * 513}, "The prompt has 513 tokens, the model's context allows 512"),
        ({"ids": [1], "start": 2}, "start is 2"),
        ({"ids": [1], "start": -1}, "start is -1"),
        ({"ids": [1], "top_k": -1}, "top_k is -1"),
        ({"ids": [1], "top_k": 301}, "top_k is 301"),
        ({"ids": [1], "token_ids": [400]}, "400 is not a token id"),
        ({"ids": [1], "profile": "fp3"}, "Unknown profile 'fp3'"),
    ],
)
def test_a_wrong_request_says_what_is_wrong(tiny_engine: Engine, arguments: dict[str, object], named: str) -> None:
    with pytest.raises(EngineRequestError) as caught:
        tiny_engine.score(**arguments)  # type: ignore[arg-type]

    assert named in str(caught.value)
    assert caught.value.remedy
    assert caught.value.exit_code == 2


def test_a_prompt_may_fill_the_context(tiny_engine: Engine) -> None:
    assert len(tiny_engine.score([1] * 512).positions) == 513


def test_wrong_batches_are_request_errors(tiny_engine: Engine) -> None:
    with pytest.raises(EngineRequestError, match="no tokens"):
        tiny_engine.next_tokens([[1], []])
    with pytest.raises(EngineRequestError, match="1 entries for 2 prompts"):
        tiny_engine.next_tokens([[1], [2]], token_ids=[[3]])
    with pytest.raises(EngineRequestError, match="Unknown profile"):
        tiny_engine.next_tokens([], profile="int3")
    with pytest.raises(EngineRequestError, match="Unknown profile"):
        tiny_engine.fingerprint("int3")


def test_a_closed_engine_says_so(tiny_llama: TinyModel) -> None:
    loaded = load_engine(tiny_llama.folder)
    loaded.close()
    loaded.close()

    with pytest.raises(EngineError, match="closed"):
        loaded.score([1])
    assert loaded.tokenize("the")


@pytest.mark.model
def test_the_bundled_model_is_described(engine: Engine) -> None:
    description = engine.describe()

    assert description.architecture == "llama"
    assert description.weights_format == "gguf"
    digest = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"  # pragma: allowlist secret
    assert description.weights_sha256 == digest
    assert (description.vocab_size, description.context_length) == (49152, 8192)
    assert description.profiles == tuple(PROFILES)
    assert description.default_system_prompt == "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
    assert description.details["stop_token_ids"] == [2]
    assert engine._config.rope_theta == 100_000.0


def test_fingerprints_differ_by_what_decides_the_numbers(tmp_path: Path, tiny_llama: TinyModel) -> None:
    engine = load_engine(tiny_llama.folder)
    prints = {name: engine.fingerprint(name) for name in PROFILES}
    assert len(set(prints.values())) == len(PROFILES)
    assert prints == {name: load_engine(tiny_llama.folder).fingerprint(name) for name in PROFILES}
    assert engine.score([1], profile="nf4").fingerprint == prints["nf4"]

    for name in tiny_llama.folder.iterdir():
        (tmp_path / name.name).write_bytes(name.read_bytes())
    (tmp_path / "chat_template.jinja").write_text("{{ messages }}")
    assert load_engine(tmp_path).fingerprint("fp32") != prints["fp32"]
    other = load_engine(write_gguf(tmp_path / "tiny.gguf", tiny_llama, "llama"))
    assert other.fingerprint("fp32") != prints["fp32"]


def test_an_unknown_profile_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(EngineRequestError, match="Unknown profile 'fp4'"):
        load_engine(tmp_path / "nowhere.gguf", profile="fp4")
