"""A reference in another process says what it says in this one, to the last bit, and fails as clearly."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

from reference_engine import (
    EngineError,
    EngineRequestError,
    ModelFileError,
    ModelNotFoundError,
    ReferenceBackend,
    SamplingParams,
    load_engine,
    load_tokenizer,
)
from reference_engine.engine import Engine
from reference_engine.remote import RemoteEngine, load_remote_tokenizer
from reference_engine.server.run import bind
from reference_engine.server.socket_file import bind_socket_file
from tests.reference_engine.pool_server import running_pool, url_of
from tests.reference_engine.tiny_models import VOCABULARY, TinyModel, write_gguf

PROMPT = [0, 40, 41, 42, 260]
OTHER = [0, 99, 12]
CHAT = ({"role": "user", "content": "then an <s> é 😀"},)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    bound = bind("127.0.0.1", 0)
    with running_pool(bound):
        yield url_of(bound)


@pytest.fixture(scope="module")
def remote(url: str, tiny_llama: TinyModel) -> Iterator[RemoteEngine]:
    engine = RemoteEngine(url, tiny_llama.folder)
    yield engine
    engine.close()


QUESTIONS: dict[str, Callable[[ReferenceBackend], object]] = {
    "describe": lambda engine: engine.describe(),
    "fingerprints": lambda engine: [engine.fingerprint(profile) for profile in engine.describe().profiles],
    "tokenize": lambda engine: engine.tokenize("then <s> é 😀\n"),
    "tokenize without special": lambda engine: engine.tokenize("then <s>", parse_special=False),
    "token bytes": lambda engine: [engine.token_bytes(token_id) for token_id in range(262)],
    "render": lambda engine: engine.render(CHAT),
    "render otherwise": lambda engine: engine.render(
        [MappingProxyType(CHAT[0])],
        [{"type": "function", "function": {"name": "f"}}],
        chat_template="{{ tools | tojson }}{{ messages[0].content }}",
        add_generation_prompt=False,
    ),
    "render tools in Hermes' form": lambda engine: engine.render(CHAT, [{"type": "function", "function": {}}]),
    "score": lambda engine: engine.score(PROMPT, token_ids=[3, 200]),
    "score in part": lambda engine: engine.score(PROMPT, start=3, top_k=VOCABULARY, profile="nf4"),
    "next tokens": lambda engine: engine.next_tokens([PROMPT, OTHER, PROMPT[:2]], token_ids=[[1], [2, 3], []]),
    "next tokens of numpy": lambda engine: engine.next_tokens(np.array([PROMPT, PROMPT]), top_k=2, profile="bf16"),  # type: ignore[arg-type]
    "next tokens of nothing": lambda engine: engine.next_tokens([]),
    "greedy answer": lambda engine: list(
        engine.generate(PROMPT, SamplingParams(max_tokens=9, temperature=0, ignore_eos=True, top_k_logprobs=4))
    ),
    "seeded answer": lambda engine: list(
        engine.generate(PROMPT, SamplingParams(max_tokens=30, seed=5, top_p=0.9, stop=("q",)), profile="w8-channel")
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_it_answers_what_the_engine_here_answers(
    question: str, remote: RemoteEngine, tiny_engine: ReferenceBackend
) -> None:
    assert QUESTIONS[question](remote) == QUESTIONS[question](tiny_engine)


MISTAKES: dict[str, Callable[[ReferenceBackend], object]] = {
    "no prompt": lambda engine: engine.score([]),
    "unknown token in a prompt": lambda engine: engine.next_tokens([[VOCABULARY]]),
    "unknown token": lambda engine: engine.token_bytes(VOCABULARY + 5000),
    "negative token": lambda engine: engine.token_bytes(-1),
    "unknown profile": lambda engine: engine.next_tokens([PROMPT], profile="w3-odd"),
    "unknown profile's fingerprint": lambda engine: engine.fingerprint("w3-odd"),
    "start": lambda engine: engine.score(PROMPT, start=6),
    "top_k": lambda engine: engine.score(PROMPT, top_k=-1),
    "token ids of other prompts": lambda engine: engine.next_tokens([PROMPT], token_ids=[[1], [2]]),
    "temperature": lambda engine: engine.generate(PROMPT, SamplingParams(temperature=float("inf"))),
    "template": lambda engine: engine.render(CHAT, chat_template="{% for %}"),
    "template that refuses": lambda engine: engine.render(CHAT, chat_template="{{ raise_exception('no') }}"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_it_refuses_in_the_words_of_the_engine_here(
    mistake: str, remote: RemoteEngine, tiny_engine: ReferenceBackend
) -> None:
    with pytest.raises(EngineRequestError) as here:
        MISTAKES[mistake](tiny_engine)
    with pytest.raises(EngineRequestError) as there:
        MISTAKES[mistake](remote)

    assert (there.value.message, there.value.remedy) == (here.value.message, here.value.remedy)


@pytest.mark.parametrize(
    "question",
    [
        lambda engine: engine.render([{"role": "user", "content": float("nan")}]),
        lambda engine: engine.render([{"role": "user", "content": b"bytes"}]),
        lambda engine: engine.score([1.5]),
        lambda engine: engine.tokenize("half a pair \ud800"),
    ],
)
def test_what_cannot_be_sent_is_a_wrong_request(
    question: Callable[[RemoteEngine], object], remote: RemoteEngine
) -> None:
    with pytest.raises(EngineRequestError) as caught:
        question(remote)

    assert caught.value.exit_code == 2


def test_a_tokenizer_alone_needs_no_weights(url: str, tiny_llama: TinyModel) -> None:
    file = tiny_llama.folder / "tokenizer.json"
    here, there = load_tokenizer(file), load_remote_tokenizer(url, file)

    assert there.tokenize("then") == here.tokenize("then")
    assert there.render(CHAT) == here.render(CHAT)
    assert [there.token_bytes(one) for one in range(9)] == [here.token_bytes(one) for one in range(9)]
    there.close()


def test_a_constraint_is_refused_with_the_way_to_have_one(remote: RemoteEngine, tiny_engine: Engine) -> None:
    constraint = tiny_engine.structure.held_to_schema({"type": "integer"})

    with pytest.raises(EngineRequestError, match="response_format"):
        remote.generate([2, 3], SamplingParams(), constraint=constraint)


def test_many_threads_get_each_their_own_answer(remote: RemoteEngine, tiny_engine: ReferenceBackend) -> None:
    prompts = [[0, *range(2, 2 + length)] for length in range(1, 25)]

    with ThreadPoolExecutor(8) as threads:
        scored = list(threads.map(lambda prompt: remote.score(prompt, top_k=5), prompts))

    assert scored == [tiny_engine.score(prompt, top_k=5) for prompt in prompts]


@pytest.mark.parametrize("name", ["nowhere.gguf", "nowhere"])
def test_a_model_that_is_not_there_is_named(name: str, url: str, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=name) as caught:
        RemoteEngine(url, tmp_path / name)

    assert caught.value.exit_code == 6


def test_a_model_file_cut_short_is_no_model(url: str, tmp_path: Path, tiny_llama: TinyModel) -> None:
    whole = write_gguf(tmp_path / "whole.gguf", tiny_llama, "llama").read_bytes()
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(whole[: len(whole) // 2])

    with pytest.raises(ModelFileError, match=r"cut\.gguf") as there:
        RemoteEngine(url, cut)
    with pytest.raises(ModelFileError) as here:
        load_engine(cut)

    assert str(there.value) == str(here.value)


def test_a_model_that_changes_under_a_caller_is_refused_to_it_and_served_to_the_next(
    url: str, tmp_path: Path, tiny_llama: TinyModel
) -> None:
    file = write_gguf(tmp_path / "m.gguf", tiny_llama, "llama")
    engine = RemoteEngine(url, file)
    before = engine.describe()
    write_gguf(file, tiny_llama, "llama", extra={"llama.rope.freq_base": 500.0})

    with pytest.raises(EngineError, match="model has changed"):
        engine.next_tokens([PROMPT])
    assert RemoteEngine(url, file).describe().weights_sha256 != before.weights_sha256


def test_a_service_that_is_not_there_is_a_reference_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"unix:.*gone\.sock cannot be reached: No such file") as caught:
        RemoteEngine(f"unix:{tmp_path / 'gone.sock'}", "bundled", patience_s=0)

    assert (caught.value.code, caught.value.exit_code) == ("reference_unavailable", 6)


def test_a_caller_outlives_a_restart_of_the_service(
    tmp_path: Path, tiny_llama: TinyModel, tiny_engine: ReferenceBackend
) -> None:
    path = tmp_path / "pool.sock"
    with running_pool(bind_socket_file(path)):
        engine = RemoteEngine(f"unix:{path}", tiny_llama.folder, patience_s=60)
        assert engine.score(PROMPT) == tiny_engine.score(PROMPT)

    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(engine.score, OTHER)
        with running_pool(bind_socket_file(path)):
            assert waiting.result(60) == tiny_engine.score(OTHER)
    engine.close()


def test_a_closed_engine_says_so(url: str, tiny_llama: TinyModel) -> None:
    engine = RemoteEngine(url, tiny_llama.folder)
    engine.close()

    with pytest.raises(EngineError, match="closed"):
        engine.next_tokens([PROMPT])


def test_with_the_token_it_is_answered_and_without_it_told_what_is_missing(tiny_llama: TinyModel) -> None:
    bound = bind("127.0.0.1", 0)
    with running_pool(bound, token="right"):
        for wrong in (None, "wrong", "rïght"):
            with pytest.raises(EngineError) as caught:
                RemoteEngine(url_of(bound), tiny_llama.folder, token=wrong)
            assert "right" not in str(caught.value)
        with pytest.raises(EngineError, match=r"refuses the token.*MONITOR_REFERENCE_TOKEN") as refused:
            RemoteEngine(url_of(bound), tiny_llama.folder)
        assert refused.value.exit_code == 6
        engine = RemoteEngine(url_of(bound), tiny_llama.folder, token="right")
        assert engine.tokenize("then")
        engine.close()


@pytest.mark.model
def test_the_bundled_model_says_the_same_there_and_here(url: str, engine: ReferenceBackend) -> None:
    remote = RemoteEngine(url, "bundled")
    messages = [[{"role": "user", "content": text}] for text in ("Say hello.", "What is the capital of France?")]
    prompts = [engine.render(each).ids for each in messages]

    assert [remote.render(each).ids for each in messages] == prompts
    for profile in ("fp32", "bf16"):
        assert remote.next_tokens(prompts, profile=profile) == engine.next_tokens(prompts, profile=profile)
    remote.close()


def test_neither_the_client_nor_an_idle_service_loads_the_tensor_library() -> None:
    for module in ("reference_engine.remote", "reference_engine.server.pool_app"):
        code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
