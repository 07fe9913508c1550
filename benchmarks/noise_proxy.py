"""A proxy that adds lawful noise to an endpoint's log-probabilities, as load, batching and kernels do elsewhere.

Every value of an answer gets normal noise of the given standard deviation, half of its variance common to the
response; lists are sorted again by the new values. Nothing else is touched.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.forwarding import Forwarding

if TYPE_CHECKING:
    from collections.abc import Iterator


class Noise:
    """Draws are made under a lock, so that a seed gives one sequence whatever the threads do."""

    def __init__(self, deviation: float, seed: int) -> None:
        self._part = deviation / np.sqrt(2.0)
        self._rng = np.random.default_rng(seed)
        self._lock = threading.Lock()

    def disturb(self, answer: dict[str, Any]) -> None:
        with self._lock:
            common = float(self._rng.normal(0.0, self._part))
            for choice in answer.get("choices", ()):
                for position in ((choice.get("logprobs") or {}).get("content")) or ():
                    self._disturb_position(position, common)

    def _disturb_position(self, position: dict[str, Any], common: float) -> None:
        values = position.get("top_logprobs", [])
        for entry in values:
            entry["logprob"] += common + float(self._rng.normal(0.0, self._part))
        named = {tuple(entry["bytes"] or ()): entry["logprob"] for entry in values}
        drawn = common + float(self._rng.normal(0.0, self._part))
        position["logprob"] = named.get(tuple(position["bytes"] or ()), position["logprob"] + drawn)
        values.sort(key=lambda entry: -entry["logprob"])


class _Handler(Forwarding):
    upstream: str
    noise: Noise

    def towards(self) -> tuple[str, dict[str, str]]:
        return self.upstream + self.path, {}

    def answer(self, status: int, content_type: str, body: bytes) -> None:
        if status == 200 and content_type.startswith("application/json"):
            answer = json.loads(body)
            self.noise.disturb(answer)
            body = json.dumps(answer).encode()
        super().answer(status, content_type, body)


@contextmanager
def noise_proxy(upstream: str, *, deviation: float = 0.03, seed: int = 0) -> Iterator[str]:
    """Serve on a free port of 127.0.0.1 in front of `upstream` (scheme, host and port); yields the proxy's address."""
    handler = type("Handler", (_Handler,), {"upstream": upstream.rstrip("/"), "noise": Noise(deviation, seed)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
