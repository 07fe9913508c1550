"""How long a request may take: said by its header or by the server, and what it is told when the time is up."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from reference_engine import EngineOptions, load_engine
from reference_engine.server import ServerSettings
from tests.reference_engine.server.tiny_backend import Endless, TinyBackend
from tests.reference_engine.tiny_models import TinyModel

HEADER = "X-Request-Timeout-Seconds"
ENDLESS = {"model": "m", "prompt": "a", "temperature": 0, "max_tokens": 10**6}


def _post(url: str, seconds: float | str | None = None, **body: Any) -> httpx.Response:
    headers = {} if seconds is None else {HEADER: str(seconds)}
    return httpx.post(f"{url}/v1/completions", json={**ENDLESS, **body}, headers=headers, timeout=60)


@pytest.mark.parametrize(("asked", "allowed"), [(0.1, None), (None, 0.1), (0.1, 60.0), (60, 0.1)])
def test_a_request_that_takes_too_long_is_504_and_computed_no_further(
    start_server, asked: float | None, allowed: float | None
) -> None:
    backend = Endless()
    url = start_server(backend, ServerSettings(request_s=allowed))

    answer = _post(url, asked)

    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "deadline_exceeded")
    assert backend.abandoned.wait(60)
    assert httpx.get(f"{url}/health").json()["active"] == 0


def test_a_stream_is_told_in_band_and_its_neighbour_goes_on(start_server) -> None:
    backend = Endless()
    url = start_server(backend)
    with httpx.stream("POST", f"{url}/v1/completions", json={**ENDLESS, "stream": True}, timeout=60) as neighbour:
        lines = neighbour.iter_lines()
        next(lines)

        events = [event for event in _post(url, 1.0, stream=True).text.split("\n\n") if event]

        assert json.loads(events[-1].removeprefix("data: "))["error"]["code"] == "deadline_exceeded"
        assert len(events) > 1
        assert "error" not in next(line for line in lines if line)


def test_the_time_runs_while_a_request_waits_for_its_turn(start_server) -> None:
    backend = TinyBackend(script=b"hello", gate=threading.Event())
    url = start_server(backend, ServerSettings(active_limit=1))
    with ThreadPoolExecutor(1) as clients:
        running = clients.submit(_post, url, max_tokens=9)
        assert backend.stepping.wait(60)

        assert _post(url, 0.1, max_tokens=9).status_code == 504
        assert httpx.post(f"{url}/v1/score", json={"prompt": "a"}, headers={HEADER: "0.1"}).status_code == 504

        backend.gate.set()  # type: ignore[union-attr]
        assert running.result().status_code == 200


def test_scores_and_answers_that_nobody_waits_for_are_computed_no_further(start_server, tiny_llama: TinyModel) -> None:
    """One token at a time, so that the whole would take a while."""
    engine = load_engine(tiny_llama.folder, options=EngineOptions(token_budget=1))
    url = start_server(engine)
    prompts = [[number] * 500 for number in range(2, 42)]

    for path, body in (("score", {"prompts": prompts}), ("completions", {"model": "m", "prompt": prompts})):
        refused = httpx.post(f"{url}/v1/{path}", json=body, headers={HEADER: "0.1"}, timeout=60)
        assert refused.json()["error"]["code"] == "deadline_exceeded"
        while (counts := engine.figures().counts)["running"] or counts["waiting"]:
            continue

    assert engine.figures().rows < 500 * 40
    engine.close()


@pytest.mark.parametrize("seconds", ["soon", "0", "-1", "nan", "inf", ""])
def test_a_header_that_is_no_time_is_named(lasting_url: str, seconds: str) -> None:
    answer = _post(lasting_url, seconds, max_tokens=1)

    assert (answer.status_code, answer.json()["error"]["param"]) == (400, HEADER)
