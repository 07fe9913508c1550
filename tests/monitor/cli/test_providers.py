"""`monitor providers`: what is configured, without a key in it, and whether it answers."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.monitor.cli.commands import Monitor
from tests.monitor.cli.served import KEY, serving

TEXT = """\
version: 1
defaults: { rpm: 30 }
models:
  m: {}
  t: { reference: { tokenizer: tok } }
providers:
  - slug: acme
    name: "[bold]Acme[/bold] \\e[31m"
    base_url: https://api.acme.ai/v1
    api_key: ${env:ACME_KEY}
    headers: { X-Title: monitor, X-Org-Token: "Org ${file:org}" }
    extra_body: { note: "sk-abcdefghijklmnop" }
    models:
      - { model: m, name: "[red]a[/red]\\e[31m", routing: { only: [x] } }
      - { model: t, name: b, prices: { input_usd_per_mtok: 1, output_usd_per_mtok: 2 } }
      - { model: m, name: c }
  - slug: open
    base_url: http://127.0.0.1:1/v1
    allow_private: true
    models: [ { model: m, name: m } ]
"""


@pytest.fixture
def configured(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "providers.yaml").write_text(TEXT)
    monkeypatch.setenv("ACME_KEY", KEY)


@pytest.mark.usefixtures("configured")
def test_list_shows_each_provider_and_whether_its_keys_are_there(monitor: Monitor, folder: Path) -> None:
    ran = monitor("providers", "list")

    assert (ran.code, ran.err) == (0, "")
    assert [line.split("   ")[0] for line in ran.out.splitlines()] == ["provider", "acme", "open"]
    assert "m, t" in ran.out
    assert f"${{env:ACME_KEY}} present, ${{file:{folder}/org}} MISSING" in ran.out
    assert KEY not in ran.out


@pytest.mark.usefixtures("configured")
def test_list_as_json(monitor: Monitor, folder: Path) -> None:
    document = monitor("providers", "list", "--json").document

    assert document["schema"] == "monitor.providers/1"
    acme, local = document["providers"]
    assert (acme["slug"], acme["base_url"], acme["models"]) == ("acme", "https://api.acme.ai/v1", ["m", "t"])
    assert acme["secrets"] == [
        {"key": "api_key", "reference": "${env:ACME_KEY}", "present": True},
        {"key": "headers.X-Org-Token", "reference": f"${{file:{folder}/org}}", "present": False},
    ]
    assert local["secrets"] == []


@pytest.mark.usefixtures("configured")
def test_show_is_yaml_with_defaults_filled_in_and_references_for_keys(monitor: Monitor, folder: Path) -> None:
    ran = monitor("providers", "show", "acme")

    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert KEY not in ran.out
    shown = yaml.safe_load(ran.out)
    assert shown["headers"] == {"X-Title": "monitor", "X-Org-Token": f"Org ${{file:{folder}/org}}"}
    first, second, _ = shown["endpoints"]
    assert first["extra_body"] == {"note": "[redacted]", "provider": {"only": ["x"], "allow_fallbacks": False}}
    assert (first["rpm"], first["timeout_s"], first["reference"]) == (30, 60.0, None)
    tokenizer = str(folder / "tok")
    assert second["reference"] == {"weights": None, "tokenizer": tokenizer, "endpoint": None, "allowed_profiles": []}
    assert second["prices"] == {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 2.0}


@pytest.mark.usefixtures("configured")
def test_show_as_json_says_the_same(monitor: Monitor) -> None:
    document = monitor("providers", "show", "acme", "--json").document

    assert document["schema"] == "monitor.provider/1"
    assert document["provider"]["endpoints"][0]["extra_body"]["note"] == "[redacted]"


@pytest.mark.usefixtures("configured")
def test_an_unknown_provider_is_a_usage_error_with_a_suggestion(monitor: Monitor) -> None:
    ran = monitor("providers", "show", "acm")

    assert ran.code == 2
    assert ran.err == (
        "error[usage]: providers.yaml has no provider 'acm'; did you mean 'acme'?\n"
        "`monitor providers list` shows them all.\n"
    )


@pytest.mark.usefixtures("configured")
def test_text_of_the_file_steers_no_terminal(monitor: Monitor, folder: Path) -> None:
    (folder / "org").write_text("org-token-value")
    (folder / "tok").touch()

    ran = monitor("config", "check")

    assert ran.code == 0
    assert "[red]a[/red][31m" in ran.out
    assert "\x1b" not in ran.out


Configure = Callable[..., None]


@pytest.fixture
def server() -> Iterator[str]:
    with serving() as url:
        yield url


@pytest.fixture
def endpoint(folder: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> Configure:
    """Configures the provider `x`: its base URL's path, its key, and the served names of its endpoints."""

    def configure(path: str = "/v1", key: str = KEY, names: tuple[str, ...] = ("served",), url: str = server) -> None:
        entries = ", ".join(f"{{ model: m, name: {name} }}" for name in names)
        monkeypatch.setenv("X_KEY", key)
        (folder / "providers.yaml").write_text(
            "version: 1\nmodels: { m: }\nproviders:\n  - slug: x\n"
            f"    base_url: {url}{path}\n    allow_private: true\n    api_key: ${{env:X_KEY}}\n"
            f"    models: [ {entries} ]\n"
        )

    return configure


def test_check_of_an_endpoint_that_answers(monitor: Monitor, endpoint: Configure) -> None:
    endpoint()

    ran = monitor("providers", "check", "x")

    assert (ran.code, ran.err) == (0, "")
    _, row = ran.out.splitlines()
    model, name, answers, listed, seconds, logprobs = row.split()
    assert (model, name, answers, listed, logprobs) == ("m", "served", "yes", "yes", "yes")
    assert float(seconds) >= 0


def test_check_as_json(monitor: Monitor, endpoint: Configure) -> None:
    endpoint(path="/no-logprobs/v1")

    ran = monitor("providers", "check", "x", "--json")

    assert ran.code == 0
    (checked,) = ran.document["endpoints"]
    assert ran.document["schema"] == "monitor.provider_check/1"
    assert checked["seconds"] >= 0
    assert {key: checked[key] for key in ("model", "name", "ok", "listed", "logprobs", "error")} == {
        "model": "m",
        "name": "served",
        "ok": True,
        "listed": True,
        "logprobs": False,
        "error": None,
    }


def test_a_provider_without_a_list_of_models_is_no_fault(monitor: Monitor, endpoint: Configure) -> None:
    endpoint(path="/no-list/v1")

    (checked,) = monitor("providers", "check", "x", "--json").document["endpoints"]

    assert (checked["ok"], checked["listed"]) == (True, None)


def test_a_wrong_key_is_exit_5_and_stays_secret(monitor: Monitor, endpoint: Configure) -> None:
    endpoint(key="canary-wrong-key")

    ran = monitor("providers", "check", "x")

    assert ran.code == 5
    assert "error[provider_auth]" in ran.err
    assert "NO (provider_auth)" in ran.out
    assert "canary" not in ran.out + ran.err


def test_one_bad_endpoint_does_not_hide_the_good_one(monitor: Monitor, endpoint: Configure) -> None:
    endpoint(names=("absent", "served"))

    ran = monitor("providers", "check", "x", "--json")

    assert ran.code == 5
    absent, served = ran.document["endpoints"]
    assert (absent["ok"], absent["listed"]) == (False, False)
    assert "absent" in absent["error"]["message"]
    assert absent["error"]["exit_code"] == 5
    assert (served["ok"], served["error"]) == (True, None)


def test_a_web_page_is_no_api(monitor: Monitor, endpoint: Configure) -> None:
    endpoint(path="/html/v1")

    ran = monitor("providers", "check", "x")

    assert ran.code == 5
    assert "error[provider_protocol]" in ran.err


def test_a_port_where_nobody_listens_is_unreachable(monitor: Monitor, endpoint: Configure) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        endpoint(url=f"http://127.0.0.1:{unused.getsockname()[1]}")

        ran = monitor("providers", "check", "x")

    assert ran.code == 5
    assert "error[provider_unreachable]" in ran.err


def test_a_key_that_is_not_set_is_a_configuration_error(
    monitor: Monitor, endpoint: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint()
    monkeypatch.delenv("X_KEY")

    ran = monitor("providers", "check", "x", "--json")

    assert ran.code == 2
    assert ran.document["error"]["code"] == "secret_missing"
    assert ran.document["error"]["message"] == "${env:X_KEY} is not set."
