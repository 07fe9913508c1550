"""What stands in front of endpoints and makes another one of them: a mixture, or one with a sampler of its own."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import ThreadingHTTPServer
from typing import Any

import numpy as np

from benchmarks.detection_lab.changes import Sampler
from benchmarks.forwarding import Forwarding
from reference_engine import Address


@dataclass(frozen=True, slots=True)
class Share:
    """An endpoint, and the share of requests that it answers, in parts of what all shares add up to."""

    address: Address
    part: float = 1.0


@contextmanager
def in_front(shares: Sequence[Share], *, sampler: Sampler | None = None, seed: int = 0) -> Iterator[Address]:
    """An endpoint on a free port of this machine that asks no token. Each request goes to one of `shares` at random:
    to the same ones for the same seed, where requests come one by one."""
    router = _Router(shares, seed)
    handler = type("Handler", (_Handler,), {"pick": staticmethod(router.pick), "sampler": sampler or Sampler()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Address(f"http://127.0.0.1:{server.server_address[1]}/v1", None)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Router:
    def __init__(self, shares: Sequence[Share], seed: int) -> None:
        self._addresses = [share.address for share in shares]
        parts = np.array([share.part for share in shares])
        self._chances = parts / parts.sum()
        self._rng = np.random.default_rng(seed)
        self._lock = threading.Lock()

    def pick(self) -> Address:
        with self._lock:
            return self._addresses[int(self._rng.choice(len(self._addresses), p=self._chances))]


def imposed(request: dict[str, Any], sampler: Sampler) -> dict[str, Any]:
    """The request as a stack with this sampler takes it."""
    temperature, top_p = request.get("temperature"), request.get("top_p")
    return request | {
        "temperature": (1.0 if temperature is None else temperature) * sampler.temperature,
        "top_p": min(1.0 if top_p is None else top_p, sampler.top_p),
    }


class _Handler(Forwarding):
    pick: Callable[[], Address]
    sampler: Sampler

    def towards(self) -> tuple[str, dict[str, str]]:
        address = self.pick()
        headers = {} if address.token is None else {"Authorization": f"Bearer {address.token}"}
        return address.base_url + self.path.removeprefix("/v1"), headers

    def asked(self, body: bytes) -> bytes:
        return json.dumps(imposed(json.loads(body), self.sampler)).encode()
