"""The server inside the process that has the engine: for as long as it is needed, and for who has the token."""

from __future__ import annotations

import contextlib
import threading

import httpx
import pytest

from reference_engine import EngineRequestError, served_here
from tests.reference_engine.server.tiny_backend import Endless, TinyBackend

BODY = {"model": "m", "prompt": "a", "temperature": 0, "max_tokens": 3}


def test_it_answers_who_has_the_token_until_the_context_ends() -> None:
    with served_here(TinyBackend(script=b"hello")) as address:
        url, bearer = f"{address.base_url}/completions", {"Authorization": f"Bearer {address.token}"}
        answered, refused = httpx.post(url, json=BODY, headers=bearer), httpx.post(url, json=BODY)

    assert (answered.status_code, answered.json()["choices"][0]["text"]) == (200, "hel")
    assert refused.status_code == 401
    assert address.token not in repr(address)
    with pytest.raises(httpx.ConnectError):
        httpx.post(url, json=BODY, headers=bearer)


def test_what_runs_when_it_ends_is_broken_off() -> None:
    with served_here(Endless()) as address:
        begun = threading.Event()

        def ask() -> None:
            headers = {"Authorization": f"Bearer {address.token}"}
            body = {**BODY, "max_tokens": 100_000, "stream": True}
            with (
                contextlib.suppress(httpx.HTTPError),
                httpx.stream(
                    "POST", f"{address.base_url}/completions", json=body, headers=headers, timeout=60
                ) as answer,
            ):
                for _ in answer.iter_lines():
                    begun.set()

        client = threading.Thread(target=ask)
        client.start()
        assert begun.wait(60)
    client.join(60)

    assert not client.is_alive()


def test_a_profile_that_does_not_exist_is_refused_before_anything_listens() -> None:
    with (
        pytest.raises(EngineRequestError, match="no-such-profile"),
        served_here(TinyBackend(), profile="no-such-profile"),
    ):
        pytest.fail("it serves")
