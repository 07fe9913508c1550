"""Where a provider is asked."""

from __future__ import annotations

import pytest

from probes.errors import ProviderAuthError, ProviderProtocolError
from probes.target import Target


@pytest.mark.parametrize(
    ("base_url", "path", "expected"),
    [
        ("https://api.example/v1", "/v1/chat/completions", "https://api.example/v1/chat/completions"),
        ("https://api.example/v1/", "/v1/models", "https://api.example/v1/models"),
        ("https://api.example", "/v1/completions", "https://api.example/completions"),
        ("https://api.example/openai/v1?v=2#x", "/v1/models", "https://api.example/openai/v1/models?v=2"),
        ("http://[::1]:8001/v1", "/v1/models", "http://[::1]:8001/v1/models"),
    ],
)
def test_the_base_url_stands_for_v1(base_url: str, path: str, expected: str) -> None:
    assert Target(base_url, "lark").url(path) == expected


def test_the_place_is_host_and_port() -> None:
    assert Target("https://user:pass@api.example:8443/v1?key=x", "lark").place == "api.example:8443"


def test_a_header_that_cannot_be_sent_is_refused_without_its_value() -> None:
    for name, value in (("X-Key", "canary\n"), ("X Key", "canary"), ("", "canary"), ("X-Key", "canaryé")):
        with pytest.raises(ProviderProtocolError) as caught:
            Target("https://api.example/v1", "lark", headers={name: value}).request_headers()
        assert "canary" not in str(caught.value)


def test_a_key_that_cannot_be_sent_is_refused_without_its_value() -> None:
    with pytest.raises(ProviderAuthError) as caught:
        Target("https://api.example/v1", "lark", api_key="canary\n").request_headers()
    assert "canary" not in str(caught.value)


def test_configured_headers_replace_ours_in_any_case() -> None:
    configured = {"authorization": "Basic x", "USER-AGENT": "lark-watch"}

    assert Target("https://api.example/v1", "lark", "key-of-ours", configured).request_headers() == configured


def test_the_redactor_knows_every_secret_of_the_target() -> None:
    target = Target(
        "https://api.example/v1?token=canary-1", "lark", "canary-2", {"X-Key": "canary-3", "X-Auth": "Bearer canary-4"}
    )

    assert target.redactor().text("canary-1 canary-2 canary-3 canary-4") == " ".join(["[redacted]"] * 4)


def test_an_api_version_is_no_secret() -> None:
    redactor = Target("https://api.example/v1?api-version=2024-10-21", "lark").redactor()

    assert redactor.text("2024-10-21 is not supported") == "2024-10-21 is not supported"
