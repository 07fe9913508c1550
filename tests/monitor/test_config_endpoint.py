"""One endpoint's settings: which setting wins, what the client is told, and what changes the digest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from monitor.check.identity import identity_of
from monitor.config import EndpointConfig, ReferenceConfig, load_config
from monitor.errors import SecretError

TEXT = """\
version: 1
defaults: { timeout: 10s, idle_timeout: 5s, max_concurrency: 2, rpm: 30 }
models:
  full: { hf: org/full, reference: { weights: weights/full.gguf, allowed_profiles: [fp32, bf16] } }
  counted: { reference: { tokenizer: tokenizers/counted } }
  bare: {}
providers:
  - slug: plain
    base_url: https://plain.example/v1
    models: [ { model: full, name: full-served } ]
  - slug: rich
    base_url: https://rich.example/v1/
    api_key: ${env:RICH_KEY}
    headers: { X-Title: monitor, X-Org-Token: "Org ${file:keys/org}" }
    extra_body: { user: team, top_k: 1, deep: { a: 1 } }
    routing: { order: [deepinfra/fp8] }
    limits: { rpm: 60, max_concurrency: 8 }
    timeout: 2m
    idle_timeout: 20s
    models:
      - { model: full, name: a, allowed_profiles: [w8-channel], extra_body: { top_k: 2, deep: { b: 2 } } }
      - { model: counted, name: b, routing: { only: [x], quantizations: [bf16], allow_fallbacks: true },
          slos: [ { up_to: 4000, ttft: 2s }, { tpot: 80ms } ] }
      - { model: bare, name: c, labels: { tier: prod }, prices: { input_usd_per_mtok: 1, output_usd_per_mtok: 2.5 },
          reasoning: { on: { effort: high }, off: { thinking: { type: disabled } } } }
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "providers.yaml"
    path.write_text(TEXT)
    return path


def endpoint(path: Path, provider: str, model: str) -> EndpointConfig:
    (found,) = load_config(path).endpoints(provider, model)
    return found


def test_defaults_hold_where_a_provider_says_nothing(path: Path) -> None:
    found = endpoint(path, "plain", "full")

    assert (found.timeout, found.idle_timeout, found.max_concurrency, found.rpm) == (10.0, 5.0, 2, 30)
    assert (found.api, found.api_key, found.routing, found.prices) == ("openai_chat", None, None, None)
    assert (found.headers, found.extra_body, found.labels, found.allow_private) == ({}, {}, {}, False)


def test_an_endpoint_knows_what_its_provider_and_model_were_called(path: Path) -> None:
    path.write_text(
        TEXT.replace("bare: {}", "bare: { renamed_from: naked }").replace(
            "slug: rich", "slug: rich\n    renamed_from: poor"
        )
    )

    found = identity_of(endpoint(path, "rich", "bare"))

    assert (found.provider_was, found.model_was) == ("poor", "naked")


def test_a_provider_overrides_the_defaults(path: Path) -> None:
    found = endpoint(path, "rich", "full")

    assert (found.timeout, found.idle_timeout, found.max_concurrency, found.rpm) == (120.0, 20.0, 8, 60)
    assert found.base_url == "https://rich.example/v1"


def test_endpoints_come_in_the_order_of_the_file(path: Path) -> None:
    assert [found.name for found in load_config(path).endpoints("rich")] == ["a", "b", "c"]


def test_a_model_entry_overrides_the_extra_body_key_by_key(path: Path) -> None:
    assert endpoint(path, "rich", "full").extra_body == {
        "user": "team",
        "top_k": 2,
        "deep": {"b": 2},
        "provider": {"order": ["deepinfra/fp8"], "allow_fallbacks": False},
    }


def test_a_model_entry_replaces_the_pin_as_a_whole(path: Path) -> None:
    assert endpoint(path, "rich", "counted").extra_body["provider"] == {
        "only": ["x"],
        "quantizations": ["bf16"],
        "allow_fallbacks": True,
    }


def test_a_reference_is_resolved_against_the_file_and_the_entry(path: Path) -> None:
    weights = path.parent / "weights" / "full.gguf"

    assert endpoint(path, "plain", "full").reference == ReferenceConfig(weights, None, ("fp32", "bf16"))
    assert endpoint(path, "rich", "full").reference == ReferenceConfig(weights, None, ("w8-channel",))


def test_a_tokenizer_alone_allows_no_profile(path: Path) -> None:
    tokenizer = path.parent / "tokenizers" / "counted"

    assert endpoint(path, "rich", "counted").reference == ReferenceConfig(None, tokenizer, ())
    assert endpoint(path, "rich", "bare").reference is None


def test_labels_prices_and_hf_are_carried(path: Path) -> None:
    bare = endpoint(path, "rich", "bare")

    assert bare.labels == {"tier": "prod"}
    assert bare.prices is not None
    assert (bare.prices.input_usd_per_mtok, bare.prices.output_usd_per_mtok) == (1.0, 2.5)
    assert endpoint(path, "rich", "full").hf == "org/full"


def test_slos_are_carried_in_seconds(path: Path) -> None:
    small, all_sizes = endpoint(path, "rich", "counted").slos

    assert (small.up_to, small.ttft, all_sizes.up_to, all_sizes.tpot) == (4000, 2.0, None, 0.08)
    assert endpoint(path, "rich", "bare").slos == ()


def test_how_reasoning_is_switched_is_carried(path: Path) -> None:
    switch = endpoint(path, "rich", "bare").reasoning

    assert switch is not None
    assert (switch.on, switch.off) == ({"effort": "high"}, {"thinking": {"type": "disabled"}})
    assert endpoint(path, "rich", "counted").reasoning is None


def test_the_target_holds_the_secrets_and_shows_none(path: Path) -> None:
    (path.parent / "keys").mkdir()
    (path.parent / "keys" / "org").write_text("canary-file\n")

    target = endpoint(path, "rich", "full").target({"RICH_KEY": "canary-env"})

    assert target.request_headers()["Authorization"] == "Bearer canary-env"
    assert target.headers == {"X-Title": "monitor", "X-Org-Token": "Org canary-file"}
    assert (target.base_url, target.served_name) == ("https://rich.example/v1", "a")
    assert (target.timeout_s, target.idle_timeout_s, target.max_concurrency, target.rpm) == (120.0, 20.0, 8, 60)
    assert target.extra_body["provider"]["order"] == ["deepinfra/fp8"]
    assert "canary" not in repr(target)


def test_the_target_needs_the_secrets(path: Path) -> None:
    with pytest.raises(SecretError, match=r"\$\{env:RICH_KEY\} is not set"):
        endpoint(path, "rich", "full").target({})


def test_a_target_without_a_key_sends_none(path: Path) -> None:
    assert "Authorization" not in endpoint(path, "plain", "full").target({}).request_headers()


def test_the_digest_follows_the_settings_and_not_the_secrets(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = endpoint(path, "rich", "full")
    monkeypatch.setenv("RICH_KEY", "canary-env")

    assert endpoint(path, "rich", "full").digest == first.digest
    assert len(first.digest) == 64
    changes = [
        replace(first, name="z"),
        replace(first, extra_body={}),
        replace(first, headers={}),
        replace(first, routing=None),
        replace(first, rpm=1),
        replace(first, reference=None),
    ]
    assert len({first.digest, *(change.digest for change in changes)}) == 7
