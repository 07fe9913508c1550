"""A key written into the configuration file, wherever it stands, reaches no error: text, repr, causes, attributes."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from monitor.config import inspect_config, load_config
from monitor.errors import ConfigError

CANARY = "Zq9-canary-5b1e0f6d"

TEXT = """\
version: 1
models: { smol: { reference: { weights: bundled } } }
providers:
  - slug: acme
    base_url: https://api.acme.ai/v1
    LINE
    models: [ { model: smol, name: smol } ]
"""


def deep_facts(error: BaseException | None) -> str:
    """Everything that a careless handler might print of an exception and of what it hangs together with."""
    if error is None:
        return ""
    own = [str(error), repr(error), repr(error.args), repr(vars(error)), *traceback.format_exception(error)]
    return "".join([*own, deep_facts(error.__cause__), deep_facts(error.__context__)])


@pytest.mark.parametrize(
    "line",
    [
        f"api_key: {CANARY}",
        f"api_key: [{CANARY}]",
        f"api_key: {{ env: {CANARY} }}",
        f"api_key: ${{env:{CANARY}}}",
        f"api_key: ${{{CANARY}}}",
        f"api_key: ${{vault:{CANARY}}}",
        f"api_kye: {CANARY}",
        f"key: {CANARY}",
        f"api_key: {CANARY}\n    api_key: {CANARY}",
        f"api_key: '{CANARY}",
        f"api_key: *{CANARY}",
        f"api_key: &{CANARY} x",
        f"api_key: !{CANARY} x",
        f"api_key: !!float {CANARY}",
        f"api_key: {CANARY}: x",
        f"api_key: {{ {CANARY}",
        f"headers: {{ Authorization: Bearer {CANARY} }}",
        f"headers: {{ Authorization: [{CANARY}] }}",
        f"headers: {{ X-Api-Key: {CANARY} }}",
        f"headers: {{ X-A: 'Bearer {CANARY} ${{env:X}}' }}",
        f'headers: {{ X-A: "{CANARY}\\n" }}',
        f"headers: {CANARY}",
        f"extra_body: {{ api_key: {CANARY} }}",
        f"extra_body: {{ model: {CANARY} }}",
        f"extra_body: {CANARY}",
        f"timeout: {CANARY}",
        f"limits: {CANARY}",
        f"limits: {{ rpm: {CANARY} }}",
        f"routing: {CANARY}",
        f"allow_private: {CANARY}",
        f"name: [{CANARY}]",
    ],
)
def test_a_key_in_a_provider_reaches_no_error(tmp_path: Path, line: str) -> None:
    path = tmp_path / "providers.yaml"
    path.write_text(TEXT.replace("LINE", line))

    with pytest.raises(ConfigError) as caught:
        load_config(path)

    assert "5b1e0f6d" not in deep_facts(caught.value)
    assert "5b1e0f6d" not in repr(inspect_config(path))


@pytest.mark.parametrize(
    "url",
    [
        f"https://user:{CANARY}@api.acme.ai/v1",
        f"https://{CANARY}@api.acme.ai/v1",
        f"https://{CANARY}@api.acme.ai:port/v1",
        f"https://{CANARY}@[api.acme.ai/v1",
        f"https://api.acme.ai/v1?api_key={CANARY}",
        f"https://api.acme.ai/v1#{CANARY}",
        f"ftp://{CANARY}@api.acme.ai/v1",
        f"http://{CANARY}@127.0.0.1/v1",
    ],
)
def test_a_key_in_the_base_url_reaches_no_error(tmp_path: Path, url: str) -> None:
    path = tmp_path / "providers.yaml"
    path.write_text(TEXT.replace("    LINE\n", "").replace("https://api.acme.ai/v1", url))

    with pytest.raises(ConfigError, match=r"providers.yaml:5: providers\[0\].base_url") as caught:
        load_config(path)

    assert "5b1e0f6d" not in deep_facts(caught.value)
