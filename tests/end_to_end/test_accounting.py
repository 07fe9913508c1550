"""`reference: {tokenizer: PATH}` alone: every prompt's count is known exactly, without weights."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from tests.endpoints.scripted_model import NOISE, ScriptedModel
from tests.endpoints.server import ScriptedServer
from tests.installation import QUICK, Installation, Ran

TEMPLATE = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)


def bytes_in(messages: Sequence[Mapping[str, Any]]) -> int:
    """The same count without the tokenizer: its tokens are the single bytes of the rendered text."""
    text = "".join(f"[{message['role']}]{message['content']}" for message in messages)
    return len(f"{text}[assistant]".encode())


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    vocabulary = {character: index for index, character in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    folder = tmp_path / "lark"
    folder.mkdir()
    backend.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE}))
    return folder / "tokenizer.json"


def probed(installation: Installation, model: ScriptedModel, tokenizer: Path, *words: str) -> Ran:
    with ScriptedServer(model) as server:
        installation.configure(server.base_url, reference={"tokenizer": str(tokenizer)})
        return installation.probe("--json", *QUICK, *words)


def accounting(ran: Ran) -> Any:
    return next(check for check in ran.document["checks"] if check["probe"] == "accounting")


def test_right_counts_are_ok_at_once_and_a_later_token_is_drift(installation: Installation, tokenizer: Path) -> None:
    first = probed(installation, ScriptedModel(noise=NOISE, count=bytes_in), tokenizer)
    second = probed(installation, ScriptedModel(noise=NOISE, count=bytes_in, extra_prompt_tokens=1), tokenizer)

    assert (first.code, first.document["verdict"], first.document["enrolled"]) == (0, "ok", True)
    assert (accounting(first)["verdict"], accounting(first)["value"]) == ("ok", 0.0)
    assert first.document["fidelity"]["verdict"] == "inapplicable"
    assert (second.code, second.document["verdict"]) == (3, "drift")
    assert (accounting(second)["verdict"], accounting(second)["value"]) == ("drift", 1.0)
    assert accounting(second)["causes"][0]["name"] == "system-prompt"
    shown = accounting(second)["telling"][0]
    assert shown["now"]["prompt_tokens"] == shown["reference"]["prompt_tokens"] + 1


def test_counts_that_were_never_right_are_suspect(installation: Installation, tokenizer: Path) -> None:
    model = ScriptedModel(noise=NOISE, count=bytes_in, extra_prompt_tokens=2)
    first = probed(installation, model, tokenizer)
    second = probed(installation, model, tokenizer, "--fail-on", "suspect")

    assert (first.code, first.document["verdict"], first.document["enrolled"]) == (0, "suspect", True)
    assert (second.code, second.document["verdict"]) == (3, "suspect")
    assert (accounting(second)["verdict"], accounting(second)["value"]) == ("suspect", 2.0)
