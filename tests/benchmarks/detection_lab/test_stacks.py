"""Changed stacks are endpoints: a server shows of them what the arrays hold, and mixtures and samplers are real."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from benchmarks.detection_lab.changes import CHANGES, UNCHANGED, Sampler, tinychange
from benchmarks.detection_lab.prompts import OPENINGS
from benchmarks.detection_lab.proxy import Share, imposed, in_front
from benchmarks.detection_lab.stacks import opened, rendered, serving
from reference_engine import Address, bundle
from reference_engine.chat import PINNED_DATE
from reference_engine.vocabulary import tokenizer_from_gguf
from reference_engine.weights.gguf import open_gguf


def asked(address: Address, body: dict[str, Any]) -> dict[str, Any]:
    headers = {"Content-Type": "application/json"}
    if address.token is not None:
        headers["Authorization"] = f"Bearer {address.token}"
    request = urllib.request.Request(f"{address.base_url}/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        answer: dict[str, Any] = json.loads(response.read())
        return answer


def test_tinychange_has_the_58_variants_of_the_paper() -> None:
    kinds = Counter(change.kind for change in tinychange())
    assert kinds == {"noise": 16, "pruning": 22, "fine-tune": 10, "lora": 10}
    assert len({change.name for change in CHANGES.values()}) == len(CHANGES)
    assert len(set(OPENINGS)) == 25


@pytest.mark.model
def test_a_prompting_change_sends_the_model_other_tokens() -> None:
    file = open_gguf(bundle.bundled_path())
    words = [{"role": "user", "content": "weather tomorrow"}]
    plain = tokenizer_from_gguf(file, PINNED_DATE).render(words)
    for name in ("template", "tokenizer"):
        vocabulary = CHANGES[name].vocabulary
        assert vocabulary is not None
        changed = tokenizer_from_gguf(vocabulary(file), PINNED_DATE).render(words)
        assert changed.ids != plain.ids
        assert (changed.text == plain.text) == (name == "tokenizer")


@pytest.mark.model
def test_the_server_shows_what_the_arrays_hold() -> None:
    change = CHANGES["system-prompt"]
    with opened(change) as engine:
        (expected,) = engine.next_tokens(rendered(engine, change, ["x"]), top_k=5)
        (unchanged,) = engine.next_tokens(rendered(engine, UNCHANGED, ["x"]), top_k=5)
        message = [{"role": "user", "content": "x"}]
        body = {"model": "m", "messages": message, "max_tokens": 1, "logprobs": True, "top_logprobs": 5}
        with serving(engine, change) as address:
            answer = asked(address, body)
    shown = [entry["logprob"] for entry in answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]]
    assert shown == pytest.approx([logprob for _, logprob in expected.top])
    assert shown != pytest.approx([logprob for _, logprob in unchanged.top])


def test_a_sampler_of_its_own_changes_the_request() -> None:
    sampler = Sampler(temperature=0.5, top_p=0.9)
    assert imposed({"model": "m"}, sampler) == {"model": "m", "temperature": 0.5, "top_p": 0.9}
    assert imposed({"temperature": 0, "top_p": 0.2}, sampler) == {"temperature": 0.0, "top_p": 0.2}
    assert imposed({"temperature": None}, Sampler()) == {"temperature": 1.0, "top_p": 1.0}


@contextmanager
def naming(name: str) -> Iterator[Address]:
    """An endpoint that answers every request with its name and what it was asked."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = json.dumps({"name": name, "path": self.path, "asked": json.loads(body)}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield Address(f"http://127.0.0.1:{server.server_address[1]}/v1", None)
    finally:
        server.shutdown()
        server.server_close()


def test_a_mixture_answers_from_its_parts_by_their_shares() -> None:
    with (
        naming("one") as one,
        naming("other") as other,
        in_front([Share(one, 0.75), Share(other, 0.25)], seed=3) as mixed,
    ):
        answers = [asked(mixed, {"temperature": 0}) for _ in range(80)]
    assert {answer["path"] for answer in answers} == {"/v1/chat/completions"}
    assert all(answer["asked"]["temperature"] == 0 for answer in answers)
    # 20 are expected, with a standard deviation of 3.9.
    assert 8 <= Counter(answer["name"] for answer in answers)["other"] <= 32
