"""K2VV's files: a line as it would have written it, and memory that does not grow with the run."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from monitor import clock
from monitor.evidence.k2vv import request_hash, write_k2vv
from monitor.evidence.subject import subject_of
from monitor.store import RunResult, RunStatus, Store
from monitor.store.whole_samples import WholeSamples
from tests.endpoints.server import Connection, Received
from tests.monitor.evidence.recorded import Recorded, asking, by_user, said
from tests.monitor.store.material import identity, sample, start


@pytest.fixture
def recorded(tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    monkeypatch.chdir(tmp_path)
    return Recorded(tmp_path, data_dir)


def exported(recorded: Recorded, run: str) -> list[dict[str, Any]]:
    folder = recorded.folder / "k"
    with recorded.store() as store:
        write_k2vv(subject_of(store, run), WholeSamples(store.sessions), folder, reveal_private=False)
    return [json.loads(line) for line in (folder / "results.jsonl").read_text("utf-8").splitlines()]


async def streaming(received: Received, connection: Connection) -> None:
    """Two parallel calls in pieces, then usage in a chunk without choices."""
    envelope = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "lark-fp8"}

    async def delta(value: Any, finish: str | None = None) -> None:
        await connection.event({**envelope, "choices": [{"index": 0, "delta": value, "finish_reason": finish}]})

    def call(index: int, **function: str) -> dict[str, Any]:
        opened = {"id": f"call_{index}", "type": "function"} if "name" in function else {}
        return {"tool_calls": [{"index": index, **opened, "function": function}]}

    await connection.begin()
    await delta({"role": "assistant", "content": None})
    await delta(call(0, name="moor", arguments='{"ber'))
    await delta(call(1, name="moor", arguments='{"berth"'))
    await delta(call(0, arguments='th": 4}'))
    await delta(call(1, arguments=": 5}"))
    await delta({}, "tool_calls")
    usage = {"prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29}
    await connection.event({**envelope, "choices": [], "usage": usage})
    await connection.event("[DONE]")
    await connection.end()


def test_a_stream_is_put_together_with_its_usage_and_its_own_model(recorded: Recorded) -> None:
    run = recorded.run(streaming, [asking("a", stream=True)])

    (line,) = exported(recorded, run)

    choice = line["response"]["choices"][0]
    assert [call["function"] for call in choice["message"]["tool_calls"]] == [
        {"name": "moor", "arguments": '{"berth": 4}'},
        {"name": "moor", "arguments": '{"berth": 5}'},
    ]
    assert (choice["finish_reason"], line["finish_reason"], line["tool_calls_valid"]) == ("tool_calls",) * 2 + (True,)
    assert line["response"]["model"] == "lark-fp8"
    assert line["response"]["usage"] == {"prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29}
    assert set(line) == {
        "data_index",
        "request",
        "extra_body",
        "response",
        "status",
        "finish_reason",
        "tool_calls_valid",
        "last_run_at",
        "duration_ms",
        "hash",
    }


def test_the_hash_is_that_of_the_request_with_its_keys_in_order(recorded: Recorded) -> None:
    run = recorded.run(by_user({}), [asking("a", "Wo liegt Emden? 🚢")])

    (line,) = exported(recorded, run)

    text = json.dumps(line["request"], sort_keys=True, ensure_ascii=False)
    assert line["hash"] == hashlib.md5(text.encode()).hexdigest()
    assert (
        request_hash({"b": 1, "a": "ü"}) == request_hash({"a": "ü", "b": 1}) == "884fa9af2c2b20ffdb5634e098660379"
    )  # pragma: allowlist secret


def test_an_answer_with_a_number_that_is_none_is_still_json(recorded: Recorded) -> None:
    async def handler(_: Received, connection: Connection) -> None:
        body = json.dumps(said({"role": "assistant", "content": "\ud83d"})).replace('"usage"', '"score": NaN, "usage"')
        await connection.reply(200, body)

    run = recorded.run(handler, [asking("a")])

    assert exported(recorded, run)[0]["status"] == "success"
    assert "NaN" not in (recorded.folder / "k" / "results.jsonl").read_text("utf-8")


def test_a_long_run_is_never_in_memory_as_a_whole(recorded: Recorded) -> None:
    body = json.dumps(said({"role": "assistant", "content": "Moored. " * 1000})).encode()

    def peak(store: Store, count: int) -> int:
        run = store.begin_run(start(endpoint.id), at=clock.now())
        store.add_samples(run, [sample(f"{n}", body=body) for n in range(count)], at=clock.now())
        store.finish_run(run, RunResult(RunStatus.SUCCEEDED), at=clock.now())
        found, samples = subject_of(store, run), WholeSamples(store.sessions)
        tracemalloc.start()
        try:
            write_k2vv(found, samples, recorded.folder / f"k{count}", reveal_private=False)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    with recorded.store() as store:
        endpoint = store.ensure_endpoint(identity(), at=clock.now())
        peak(store, 1)  # what is imported and prepared once
        most = peak(store, 160)

    assert most < (recorded.folder / "k160" / "results.jsonl").stat().st_size / 3
