"""A server's numbers, as Prometheus reads them."""

from __future__ import annotations

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from reference_engine import load_engine
from reference_engine.server import ServerSettings
from tests.reference_engine.server.tiny_backend import Endless, TinyBackend, chat
from tests.reference_engine.tiny_models import TinyModel

Numbers = dict[tuple[str, ...], float]


def numbers_of(url: str) -> Numbers:
    """By name without prefix, and label values in the labels' order."""
    answer = httpx.get(f"{url}/metrics", timeout=60)
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return {
        (sample.name.removeprefix("reference_engine_"), *(sample.labels[label] for label in sorted(sample.labels))): (
            sample.value
        )
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_requests_are_counted_by_route_and_status_and_timed(start_server) -> None:
    url = start_server(TinyBackend(script=b"hello"))
    for body in ({"prompt": "a"}, {"prompt": "a", "stream": True}, {"prompt": 5}):
        httpx.post(f"{url}/v1/completions", json={"model": "m", "temperature": 0, **body})
    httpx.get(f"{url}/v1/models/org/secret")
    httpx.get(f"{url}/secret")

    numbers = numbers_of(url)

    assert numbers["requests_total", "/v1/completions", "200"] == 2
    assert numbers["requests_total", "/v1/completions", "400"] == 1
    assert numbers["requests_total", "/v1/models/{model_id:path}", "200"] == 1
    assert numbers["requests_total", "none", "404"] == 1
    assert numbers["request_duration_seconds_count", "/v1/completions"] == 3
    assert numbers["time_to_first_token_seconds_count", "/v1/completions"] == 1
    assert (numbers["prompt_tokens_total",], numbers["generated_tokens_total",]) == (2, 12)
    assert (numbers["requests_active",], numbers["requests_waiting",], numbers["draining",]) == (0, 0, 0)
    assert "secret" not in httpx.get(f"{url}/metrics").text


def test_an_error_in_band_counts_as_what_it_is(start_server) -> None:
    url = start_server(Endless(), ServerSettings(request_s=0.1))

    httpx.post(f"{url}/v1/chat/completions", json=chat("a", stream=True, temperature=0), timeout=60)

    assert numbers_of(url)["requests_total", "/v1/chat/completions", "504"] == 1


def test_servers_of_one_process_count_apart(start_server) -> None:
    one, other = (start_server(TinyBackend()) for _ in range(2))

    httpx.post(f"{one}/v1/score", json={"prompt": "abc"})

    assert numbers_of(one)["prompt_tokens_total",] == 3
    assert numbers_of(other)["prompt_tokens_total",] == 0


@pytest.fixture
def tiny_url(start_server, tiny_llama: TinyModel):
    engine = load_engine(tiny_llama.folder)
    yield start_server(engine)
    engine.close()


def test_the_engine_tells_what_it_computed_and_what_it_did_not_have_to(tiny_url: str) -> None:
    ids = list(range(2, 42))
    before = numbers_of(tiny_url)
    for _ in range(2):
        httpx.post(f"{tiny_url}/v1/score", json={"prompt": ids, "top_k": 5})
    httpx.post(f"{tiny_url}/v1/completions", json={"model": "m", "prompt": ids, "max_tokens": 1})

    numbers = numbers_of(tiny_url)

    assert numbers["passes_total",] - before["passes_total",] == 2
    assert numbers["recorded_positions_total",] - before["recorded_positions_total",] == len(ids)
    assert numbers["cached_tokens_total",] > before["cached_tokens_total",]
    assert numbers["rows_total",] - before["rows_total",] == len(ids) + 1
    assert numbers["preemptions_total",] == numbers["sequences_running",] == numbers["sequences_waiting",] == 0
    assert 0 < numbers["kv_bytes_used",] < numbers["kv_bytes",]
