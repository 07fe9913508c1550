"""The reference is asked what an endpoint was asked, in this process or in a service, with the same answers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from monitor import clock
from monitor.check.judge import Judge
from monitor.check.options import Silent
from monitor.check.plans import Planned
from monitor.check.reference import open_reference
from monitor.check.reference_side import ask_reference, converses
from monitor.check.tool_calls import tool_plan
from monitor.config import ReferenceConfig
from probes.plan import Item, Outcome, Plan, ProbeKind, Sample
from probes.tools.families.question import ROOM
from reference_engine import BARE_ANSWER_TOKENS, EngineError, GeneratedToken, SamplingParams, load_engine
from reference_engine.remote import RemoteEngine
from reference_engine.server.run import bind
from reference_engine.server.socket_file import bind_socket_file
from tests.reference_engine.pool_server import running_pool, url_of
from tests.reference_engine.server.tiny_backend import TinyBackend
from tests.reference_engine.tiny_models import write_gguf, write_tiny_model

LONG = {"llama.context_length": 8192}
NONCE = b"n" * 16
OTHER = {"llama.rope.freq_base": 500.0}
PLAN = Plan(
    ProbeKind.TOOL_CALLS,
    tuple(
        Item(
            f"{word}-{mode}",
            rep,
            {
                "messages": [{"role": "user", "content": word}],
                "temperature": 1,
                "max_tokens": 12,
                "stream": mode == "stream",
            },
        )
        for word in ("then", "an é")
        for mode in ("stream", "plain")
        for rep in range(6)
    ),
    "0" * 64,
    "1",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("model"), "llama").folder


@contextmanager
def pool_process(*arguments: str) -> Iterator[str]:
    """`reference-engine pool` as it is started in production; the URL that it says it answers at."""
    command = [sys.executable, "-m", "reference_engine", "pool", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            yield process.stderr.readline().removeprefix("references on ").strip()
        finally:
            process.kill()


def texts(samples: list[Sample]) -> dict[tuple[str, int], str | None]:
    assert {sample.outcome for sample in samples} == {Outcome.OK}
    return {
        (sample.item.key, sample.item.rep): None if sample.completion is None else sample.completion.content
        for sample in samples
    }


def shortened(item: Item) -> Item:
    return replace(item, request={**item.request, "max_tokens": 20})


def nothing() -> None:
    """Nobody is to be told."""


@pytest.fixture(scope="module")
def said_here(folder: Path) -> dict[tuple[str, int], str | None]:
    engine = load_engine(folder)
    found = texts(ask_reference(engine, "fp32", PLAN, nothing, nonce=NONCE))
    engine.close()
    return found


def test_a_service_in_another_process_answers_what_the_engine_here_answers(
    folder: Path, tmp_path: Path, said_here: dict[tuple[str, int], str | None]
) -> None:
    told: list[None] = []

    with pool_process("--socket", str(tmp_path / "pool.sock")) as url:
        remote = RemoteEngine(url, folder)
        assert converses(remote)
        assert texts(ask_reference(remote, "fp32", PLAN, lambda: told.append(None), nonce=NONCE)) == said_here
        remote.close()

    assert len(told) == len(PLAN.items)


def test_no_two_checks_share_an_answer_and_one_check_always_gets_its_own(
    folder: Path, said_here: dict[tuple[str, int], str | None]
) -> None:
    engine = load_engine(folder)
    again, other = (texts(ask_reference(engine, "fp32", PLAN, nothing, nonce=nonce)) for nonce in (NONCE, b"o" * 16))
    engine.close()

    assert again == said_here
    assert [key for key in other if other[key] == said_here[key]] == []


def test_so_does_one_behind_a_port_and_a_token(folder: Path, said_here: dict[tuple[str, int], str | None]) -> None:
    bound = bind("127.0.0.1", 0)
    with running_pool(bound, token="right"):
        remote = RemoteEngine(url_of(bound), folder, token="right")
        assert texts(ask_reference(remote, "fp32", PLAN, nothing, nonce=NONCE)) == said_here
        remote.close()


@dataclass
class Limited(TinyBackend):
    """Remembers how long each answer might have been."""

    context_length: int = 100_000
    limits: list[int] = field(default_factory=list)

    def generate(
        self, ids: Sequence[int], params: SamplingParams, *, profile: str = "fp32"
    ) -> Iterator[GeneratedToken]:
        self.limits.append(params.max_tokens)
        yield GeneratedToken(ord("x"), "No.", -1.0, (), "stop")


def test_a_request_without_a_limit_has_the_room_of_the_others_and_the_plan_says_that_it_does() -> None:
    engine, (first, *_) = Limited(), PLAN.items
    bare = replace(first, request={key: value for key, value in first.request.items() if key != "max_tokens"})
    both = replace(PLAN, items=(first, replace(bare, rep=1)))

    ask_reference(engine, "fp32", both, nothing, nonce=NONCE)

    assert sorted(engine.limits) == [12, BARE_ANSWER_TOKENS]
    assert BARE_ANSWER_TOKENS == ROOM
    whole = tool_plan(b"s" * 32, b"nonce", clock.now(), whole=True)
    assert Planned((whole.plan,), NONCE, whole).leaves_open
    limited = replace(whole, plan=replace(whole.plan, items=tuple(map(shortened, whole.plan.items))))
    assert not Planned((limited.plan,), limited).leaves_open


def test_what_comes_in_time_is_kept(folder: Path, tmp_path: Path) -> None:
    with running_pool(bind_socket_file(tmp_path / "pool.sock")):
        remote = RemoteEngine(f"unix:{tmp_path / 'pool.sock'}", folder)
        assert ask_reference(remote, "fp32", PLAN, nothing, nonce=NONCE, within_s=0) == []
        remote.close()


def test_a_service_that_is_gone_or_has_other_files_is_a_reference_that_cannot_be_used(
    tmp_path: Path,
) -> None:
    model = write_tiny_model(tmp_path / "model", "llama").folder
    with running_pool(bind_socket_file(tmp_path / "pool.sock")):
        remote = RemoteEngine(f"unix:{tmp_path / 'pool.sock'}", model, patience_s=0)
        settings = model / "tokenizer_config.json"
        settings.write_text(settings.read_text().replace("assistant", "helper"))

        with pytest.raises(EngineError, match="model has changed"):
            ask_reference(remote, "fp32", PLAN, nothing, nonce=NONCE)

    with pytest.raises(EngineError, match="cannot be reached"):
        ask_reference(remote, "fp32", PLAN, nothing, nonce=NONCE)


def test_tool_calls_have_a_reference_side_in_a_service_and_do_without_where_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = write_gguf(tmp_path / "m.gguf", write_tiny_model(tmp_path / "m", "llama"), "llama", extra=LONG)
    monkeypatch.setenv("MONITOR_REFERENCE_URL", f"unix:{tmp_path / 'pool.sock'}")
    whole = tool_plan(b"s" * 32, b"nonce", clock.now(), whole=True)
    short = replace(whole, plan=replace(whole.plan, items=tuple(shortened(item) for item in whole.plan.items[:6])))
    with running_pool(bind_socket_file(tmp_path / "pool.sock")):
        reference = open_reference(ReferenceConfig(weights, None, ("fp32",)))
        judge = Judge(reference, (ProbeKind.TOOL_CALLS,), Silent(), nonce=NONCE)
        sent = [Sample(item, Outcome.OK, None, ()) for item in short.plan.items]
        answered = judge.tool_answers(short, sent)
        write_gguf(weights, write_tiny_model(tmp_path / "other", "llama"), "llama", extra={**LONG, **OTHER})
        failed = judge.tool_answers(short, sent)

    assert len(answered.reference) == 6
    assert any(one.completed for one in answered.reference)
    assert (failed.reference, failed.no_reference) == ((), "the reference could not be asked")
