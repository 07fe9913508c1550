"""Whether what the configuration refers to is there: keys, weights, tokenizers. No value is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.config.base_url import base_url_hint
from monitor.config.values import BUNDLED
from monitor.errors import SecretError
from reference_engine.bundle import bundled_path
from reference_engine.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from monitor.config.load import Config
    from monitor.config.problems import KeyPath, Problem
    from monitor.config.schema import Provider, Reference
    from monitor.secrets import SecretRef


def missing_references(config: Config, environ: Mapping[str, str] | None = None) -> list[Problem]:
    """A problem for each secret that cannot be resolved and each path of a reference that does not exist."""
    found = [
        *_missing_files(config),
        *(
            missing
            for index, _ in enumerate(config.file.providers)
            for missing in _missing_secrets(config, index, environ)
        ),
    ]
    return [config.document.problem(path, message) for path, message in found]


def hints(config: Config) -> list[Problem]:
    """What is allowed but probably not meant."""
    found = [
        (("providers", index, "base_url"), base_url_hint(p.base_url)) for index, p in enumerate(config.file.providers)
    ]
    return [config.document.problem(path, hint) for path, hint in found if hint is not None]


def secrets_of(provider: Provider) -> dict[KeyPath, SecretRef]:
    """Every reference to a secret, by where it stands within the provider."""
    found: dict[KeyPath, SecretRef] = {} if provider.api_key is None else {("api_key",): provider.api_key}
    for name, value in provider.headers.items():
        if value.reference is not None:
            found["headers", name] = value.reference
    return found


def secret_problem(reference: SecretRef, environ: Mapping[str, str] | None = None) -> str | None:
    """Why a secret cannot be had, None if it can."""
    try:
        reference.resolve(environ)
    except SecretError as error:
        return str(error)
    return None


def _missing_secrets(config: Config, index: int, environ: Mapping[str, str] | None) -> Iterator[tuple[KeyPath, str]]:
    for key, reference in secrets_of(config.file.providers[index]).items():
        problem = secret_problem(reference, environ)
        if problem is not None:
            yield ("providers", index, *key), problem


def _missing_files(config: Config) -> Iterator[tuple[KeyPath, str]]:
    for slug, model in config.file.models.items():
        if model.reference is not None:
            for key, path in _paths(model.reference).items():
                if not path.exists():
                    yield ("models", slug, "reference", key), f"there is no file or folder {path}"
            if model.reference.weights == BUNDLED and (problem := _bundled_problem()):
                yield ("models", slug, "reference", "weights"), problem


def _bundled_problem() -> str | None:
    try:
        bundled_path()
    except EngineError as error:
        return str(error)
    return None


def _paths(reference: Reference) -> dict[str, Path]:
    candidates = {"weights": reference.weights, "tokenizer": reference.tokenizer}
    return {key: path for key, path in candidates.items() if path is not None and not isinstance(path, str)}
