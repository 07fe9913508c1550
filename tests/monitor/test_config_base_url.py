"""base_url: which addresses a provider may be asked at, as far as the text tells, and that none is quoted."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.config import inspect_config, load_config

CANARY = "canary"

TEXT = """\
version: 1
models: { smol: }
providers:
  - slug: acme
    base_url: URL
    allow_private: PRIVATE
    models: [ { model: smol, name: smol } ]
"""


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (f"https://user:{CANARY}@api.acme.ai/v1", "holds a user name or password"),
        ("https://canary@api.acme.ai/v1", "holds a user name or password"),
        ("https://api.acme.ai/v1?key=canary", "no query but an api-version"),
        ("https://api.acme.ai/v1?api-version=2024-10-21&key=canary", "no query but an api-version"),
        ("https://api.acme.ai/v1?api-version=sk-canary-0123456789abcdef", "no query but an api-version"),
        ("https://api.acme.ai/v1#canary", "no fragment"),
        ("ftp://canary/v1", "must be http(s)://HOST/PATH"),
        ("canary/v1", "must be http(s)://HOST/PATH"),
        ("https:///canary", "must be http(s)://HOST/PATH"),
        ("https://api.acme.ai:canary/v1", "impossible host or port"),
        ("https://[canary/v1", "impossible host or port"),
        ("https://api.acme.ai/v1/chat/completions", "must end before /chat/completions"),
        ('"https://api.acme.ai/v1\\ncanary"', "a URL cannot hold"),
        ("https://api.acme.ai\\canary/v1", "a URL cannot hold"),
        ("https://api.acme.ai/v1 canary", "a URL cannot hold"),
        ("http://api.acme.ai/v1", "its scheme is http. Use https."),
        ("https://127.0.0.1/v1", "a loopback address"),
        ("https://[::1]/v1", "a loopback address"),
        ("https://10.1.2.3/v1", "a private address"),
        ("https://100.64.0.1/v1", "a private address"),
        ("https://[::ffff:10.0.0.1]/v1", "a private address"),
        ("https://[64:ff9b::a00:1]/v1", "NAT64"),
        ("https://224.0.0.1/v1", "a multicast address"),
        ("https://169.254.169.254/v1", "metadata"),
        ("https://2130706433/v1", "may stand for an IP address"),
    ],
)
def test_a_base_url_that_may_not_be_asked_is_refused(tmp_path: Path, url: str, said: str) -> None:
    path = tmp_path / "providers.yaml"
    path.write_text(TEXT.replace("URL", url).replace("PRIVATE", "false"))

    (problem,) = inspect_config(path).problems

    assert (problem.line, problem.key) == (5, "providers[0].base_url")
    assert said in problem.message
    assert "canary" not in problem.message


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8001/v1", "http://localhost:1234", "https://10.0.0.7/v1/", "http://[::1]:8000/openai/v1"]
)
def test_private_addresses_and_http_are_for_those_who_ask(tmp_path: Path, url: str) -> None:
    path = tmp_path / "providers.yaml"
    path.write_text(TEXT.replace("URL", url).replace("PRIVATE", "true"))

    assert load_config(path).endpoints("acme")[0].base_url == url.rstrip("/")


def test_an_api_version_stays_with_the_url(tmp_path: Path) -> None:
    url = "https://acme.openai.azure.com/openai/deployments/lark?api-version=2024-12-01-preview"
    path = tmp_path / "providers.yaml"
    path.write_text(TEXT.replace("URL", url).replace("PRIVATE", "false"))

    target = load_config(path).endpoints("acme")[0].target()

    assert target.url("/v1/chat/completions") == url.replace("?", "/chat/completions?")
