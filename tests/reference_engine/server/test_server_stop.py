"""A server that is told to stop: what runs may end, what comes is refused, and nothing is cut off without a word."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx

import reference_engine
from reference_engine.server import ServerSettings
from tests.reference_engine.server.conftest import stoppable
from tests.reference_engine.server.tiny_backend import Endless, TinyBackend

ROOT = Path(reference_engine.__file__).parents[1]
SERVE_ENDLESSLY = """
from reference_engine.server import ServerSettings, create_app
from reference_engine.server.run import bind, serve
from tests.reference_engine.server.tiny_backend import Endless
bound = bind("127.0.0.1", 0)
app = create_app(Endless(), ServerSettings(drain_s=600.0))
serve(app, bound, lambda: print(bound.getsockname()[1], flush=True), app.state.drain)
"""


def _body(**more: Any) -> dict[str, Any]:
    return {"model": "m", "prompt": "a", "temperature": 0, "max_tokens": 100_000, **more}


def _post(url: str, **more: Any) -> httpx.Response:
    return httpx.post(f"{url}/v1/completions", json=_body(**more), timeout=60)


def _until_draining(url: str) -> httpx.Response:
    while (health := httpx.get(f"{url}/health", timeout=60)).status_code == 200:
        continue
    return health


def test_what_runs_or_waits_is_answered_and_what_comes_is_refused() -> None:
    backend = TinyBackend(script=b"hello", gate=threading.Event())
    settings = ServerSettings(active_limit=1, drain_s=60.0)
    with stoppable(backend, settings) as (url, stop), ThreadPoolExecutor(2) as clients:
        asked = [clients.submit(_post, url, max_tokens=50, stream=stream) for stream in (False, True)]
        while httpx.get(f"{url}/health", timeout=60).json()["waiting"] == 0:
            continue

        stop()
        health, refused = _until_draining(url), _post(url, max_tokens=50)
        backend.gate.set()  # type: ignore[union-attr]
        whole, streamed = (one.result() for one in asked)

    assert (health.json()["status"], health.json()["draining"], health.json()["active"]) == ("draining", True, 1)
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "server_stopping")
    assert int(refused.headers["retry-after"]) > 0
    assert whole.json()["choices"][0]["text"] == "hello"
    assert streamed.text.endswith("data: [DONE]\n\n")


def test_what_runs_too_long_is_told_in_band() -> None:
    backend = Endless()
    with (
        stoppable(backend, ServerSettings(drain_s=0.0)) as (url, stop),
        httpx.stream("POST", f"{url}/v1/completions", json=_body(stream=True), timeout=60) as answer,
    ):
        lines = answer.iter_lines()
        assert next(lines).startswith("data: ")
        stop()
        last = [line for line in lines if line][-1]

    assert json.loads(last.removeprefix("data: "))["error"]["code"] == "server_stopping"
    assert backend.abandoned.wait(60)


def test_a_second_signal_ends_the_process_at_once() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SERVE_ENDLESSLY], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        url = f"http://127.0.0.1:{process.stdout.readline().strip()}"
        with httpx.stream("POST", f"{url}/v1/completions", json=_body(stream=True), timeout=60) as answer:
            lines = answer.iter_lines()
            assert next(lines).startswith("data: ")
            process.send_signal(signal.SIGTERM)
            _until_draining(url)

            process.send_signal(signal.SIGTERM)

            assert process.wait(60) == 0
