"""The tokenizer in a folder as transformers saves it: tokenizer.json, and its neighbours on special tokens."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from reference_engine.chat import ChatTemplate
from reference_engine.errors import ModelFileError, ModelNotFoundError
from reference_engine.jsonfile import read_json
from reference_engine.tokenizer import ModelTokenizer, Spelling, TokenizerFacts

_ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


def tokenizer_from_folder(folder: Path, today: datetime, *, tokenizer_file: Path | None = None) -> ModelTokenizer:
    """Raises ModelNotFoundError without a tokenizer.json, ModelFileError where it cannot be read."""
    file = tokenizer_file or folder / "tokenizer.json"
    backend = _read_backend(file)
    settings = _optional_json(folder / "tokenizer_config.json")
    roles = _role_tokens(_optional_json(folder / "special_tokens_map.json")) | _role_tokens(settings)
    config, generation = _optional_json(folder / "config.json"), _optional_json(folder / "generation_config.json")
    added = backend.get_added_tokens_decoder()
    stops = {id_ for source in (config, generation) for id_ in _ids(source.get("eos_token_id"))}
    eos_id = backend.token_to_id(roles["eos_token"]) if "eos_token" in roles else None
    bos_id = backend.token_to_id(roles["bos_token"]) if "bos_token" in roles else None
    facts = TokenizerFacts(
        spelling=_spelling(backend),
        vocab_size=max(backend.get_vocab_size(), _largest_id(backend) + 1, int(config.get("vocab_size") or 0)),
        special={id_: token.content for id_, token in added.items()},
        control=frozenset(id_ for id_, token in added.items() if token.special),
        stops=frozenset(stops if eos_id is None else stops | {eos_id}),
        bos_id=bos_id,
        adds_bos=bos_id is not None and backend.encode("a").ids[:1] == [bos_id],
        digest=_digest(file, roles, stops),
    )
    return ModelTokenizer(backend, facts, ChatTemplate(_template(folder, settings), roles, today))


def _read_backend(file: Path) -> Tokenizer:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ModelNotFoundError(
            f"There is no tokenizer {file}.", remedy="Give the model's tokenizer.json beside its weights."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ModelFileError(f"{file} cannot be read: {error}.", remedy="Fetch the model's files again.") from error
    try:
        backend = Tokenizer.from_str(text)
    except Exception as error:  # the tokenizers package raises nothing narrower
        raise ModelFileError(
            f"{file} is not a valid tokenizer.json: {error}.", remedy="Fetch the model's files again."
        ) from error
    backend.no_truncation()
    backend.no_padding()
    return backend


def _optional_json(path: Path) -> Mapping[str, Any]:
    return read_json(path) if path.exists() else {}


def _role_tokens(settings: Mapping[str, Any]) -> dict[str, str]:
    """Special tokens by role; older files wrap the text in an object."""
    tokens = {role: settings.get(role) for role in _ROLES}
    texts = {role: token.get("content") if isinstance(token, dict) else token for role, token in tokens.items()}
    return {role: text for role, text in texts.items() if isinstance(text, str)}


def _ids(value: Any) -> list[int]:
    return [value] if isinstance(value, int) else list(value or ())


def _largest_id(backend: Tokenizer) -> int:
    return max(backend.get_vocab(with_added_tokens=True).values(), default=-1)


def _spelling(backend: Tokenizer) -> Spelling:
    described = json.loads(backend.to_str())
    kinds = set(_kinds(described.get("decoder"))) or set(_kinds(described.get("pre_tokenizer")))
    if "ByteLevel" in kinds:
        return "byte-level"
    return "sentencepiece" if kinds & {"ByteFallback", "Metaspace", "Replace"} else "plain"


def _kinds(part: Mapping[str, Any] | None) -> Iterator[str]:
    if part:
        yield str(part.get("type"))
        for member in [*part.get("decoders", ()), *part.get("pretokenizers", ())]:
            yield from _kinds(member)


def _template(folder: Path, settings: Mapping[str, Any]) -> str | None:
    file = folder / "chat_template.jinja"
    if file.exists():
        return file.read_text(encoding="utf-8")
    template = settings.get("chat_template")
    if isinstance(template, list):
        named = {entry.get("name"): entry.get("template") for entry in template if isinstance(entry, dict)}
        template = named.get("default")
    return template if isinstance(template, str) else None


def _digest(file: Path, roles: Mapping[str, str], stops: set[int]) -> str:
    facts = {"roles": roles, "stops": sorted(stops), "tokenizer": hashlib.sha256(file.read_bytes()).hexdigest()}
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
